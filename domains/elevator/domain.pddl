; A lift with a door: who is on the right floor gets on and off by himself when the door opens.
; Shows conditional and universal effects, and derived predicates.
(define (domain elevator)
  (:requirements :adl :derived-predicates :action-costs)
  (:types passenger floor - object)
  (:predicates
    (next ?lower ?upper - floor)
    (lift-at ?f - floor)
    (open)
    (waits ?p - passenger ?f - floor)
    (wants ?p - passenger ?f - floor)
    (aboard ?p - passenger)
    (served ?p - passenger)
    (afraid ?p - passenger)
    (above ?upper ?lower - floor)
    (crowded))
  (:functions (total-cost) - number)

  (:derived (above ?u ?l - floor)
    (or (next ?l ?u)
        (exists (?m - floor) (and (next ?l ?m) (above ?u ?m)))))

  ; two aboard of whom one is afraid of company
  (:derived (crowded)
    (exists (?p ?q - passenger)
      (and (not (= ?p ?q)) (aboard ?p) (aboard ?q) (afraid ?p))))

  (:action up
    :parameters (?from ?to - floor)
    :precondition (and (lift-at ?from) (above ?to ?from) (not (open)) (not (crowded)))
    :effect (and (not (lift-at ?from)) (lift-at ?to) (increase (total-cost) 3)))

  (:action down
    :parameters (?from ?to - floor)
    :precondition (and (lift-at ?from) (above ?from ?to) (not (open)) (not (crowded)))
    :effect (and (not (lift-at ?from)) (lift-at ?to) (increase (total-cost) 2)))

  (:action open-door
    :parameters (?f - floor)
    :precondition (and (lift-at ?f) (not (open)))
    :effect (and (open)
      (forall (?p - passenger)
        (and (when (and (aboard ?p) (wants ?p ?f))
                   (and (not (aboard ?p)) (served ?p)))
             (when (waits ?p ?f)
                   (and (not (waits ?p ?f)) (aboard ?p)))))
      (increase (total-cost) 1)))

  (:action close-door
    :parameters ()
    :precondition (open)
    :effect (and (not (open)) (increase (total-cost) 0))))
