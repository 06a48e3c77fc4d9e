(define (domain depot)
  (:requirements :typing :negative-preconditions)
  (:types truck crate place)
  (:predicates (at ?t - truck ?p - place) (in ?c - crate ?t - truck) (lies ?c - crate ?p - place)
    (road ?a ?b - place) (idle ?t - truck) (marked ?c - crate))
  (:action drive
    :parameters (?t - truck ?a ?b - place)
    :precondition (and (at ?t ?a) (road ?a ?b))
    :effect (and (at ?t ?b) (not (at ?t ?a))))
  (:action pick
    :parameters (?c - crate ?t - truck ?p - place)
    :precondition (and (at ?t ?p) (lies ?c ?p) (idle ?t))
    :effect (and (in ?c ?t) (not (lies ?c ?p)) (not (idle ?t))))
  (:action put
    :parameters (?c - crate ?t - truck ?p - place)
    :precondition (and (at ?t ?p) (in ?c ?t))
    :effect (and (lies ?c ?p) (not (in ?c ?t))))  ; expect FT206
  (:action mark
    :parameters (?c - crate ?p - place)
    :precondition (and (lies ?c ?p) (not (marked ?c)))
    :effect (marked ?c)))
