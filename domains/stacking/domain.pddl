; Boxes stand on places or on each other. A crane carries the topmost box of one stack to another; what a box can bear
; is stated in the problem, and heavy boxes cost more to lift.
(define (domain stacking)
  (:requirements :strips :typing :equality :action-costs)
  (:types box place - support)
  (:predicates
    (on ?b - box ?s - support)
    (clear ?s - support)
    (bears ?s - support ?b - box))
  (:functions
    (total-cost) - number
    (weight ?b - box) - number)

  (:action restack
    :parameters (?b - box ?from ?to - support)
    :precondition (and (clear ?b) (on ?b ?from)
                       (clear ?to) (bears ?to ?b)
                       (not (= ?b ?to)) (not (= ?from ?to)))
    :effect (and (not (on ?b ?from)) (on ?b ?to)
                 (not (clear ?to)) (clear ?from)
                 (increase (total-cost) (weight ?b)))))
