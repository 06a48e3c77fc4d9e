(define (problem one) (:domain depot)
  (:objects t - truck c d - crate here there - place)
  (:init (at t here) (idle t) (lies c here) (lies d there)
    (road here there) (road there here))
  (:goal (and
    (lies c there)
    (marked d))))
