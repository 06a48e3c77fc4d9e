(define (problem one) (:domain depot)
  (:objects t - truck c d - crate here there - place)
  (:init (at t here) (at t there) (idle t) (lies c here) (lies d there)  ; expect FT204
    (road here there) (road there here))
  (:goal (and
    (lies c there)
    (marked d))))
