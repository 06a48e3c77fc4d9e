; When a lift opens its doors, all those get out who want to be there, and all those get in whom it can bring to where
; they want to be. It does not move while two people ride in it who quarrel. From any floor it may return to the lobby
; without a halt, which is quicker than floor by floor.
(define (domain elevator)
  (:requirements :adl :derived-predicates :action-costs)
  (:types lift floor person)
  (:predicates
    (at ?l - lift ?f - floor)
    (next ?low ?high - floor)
    (lobby ?f - floor)
    (halts ?l - lift ?f - floor)        ; the lift has doors there
    (waits ?p - person ?f - floor)
    (wants ?p - person ?f - floor)
    (rides ?p - person ?l - lift)
    (arrived ?p - person)
    (quarrel ?a ?b - person)
    (above ?high ?low - floor)          ; derived
    (tense ?l - lift))                  ; derived
  (:functions (total-cost) - number)

  (:derived (above ?high ?low - floor)
    (or (next ?low ?high)
        (exists (?between - floor) (and (next ?low ?between) (above ?high ?between)))))

  (:derived (tense ?l - lift)
    (exists (?a ?b - person) (and (quarrel ?a ?b) (rides ?a ?l) (rides ?b ?l))))

  (:action go-up
    :parameters (?l - lift ?from ?to - floor)
    :precondition (and (at ?l ?from) (next ?from ?to) (not (tense ?l)))
    :effect (and (at ?l ?to) (not (at ?l ?from)) (increase (total-cost) 2)))

  (:action go-down
    :parameters (?l - lift ?from ?to - floor)
    :precondition (and (at ?l ?from) (next ?to ?from) (not (tense ?l)))
    :effect (and (at ?l ?to) (not (at ?l ?from)) (increase (total-cost) 2)))

  (:action return
    :parameters (?l - lift ?from ?to - floor)
    :precondition (and (at ?l ?from) (lobby ?to) (above ?from ?to) (not (tense ?l)))
    :effect (and (at ?l ?to) (not (at ?l ?from)) (increase (total-cost) 3)))

  (:action open-doors
    :parameters (?l - lift ?f - floor)
    :precondition (and (at ?l ?f) (halts ?l ?f))
    :effect (and
      (forall (?p - person)
        (when (and (rides ?p ?l) (wants ?p ?f))
          (and (arrived ?p) (not (rides ?p ?l)))))
      (forall (?p - person)
        (when (and (waits ?p ?f) (exists (?g - floor) (and (wants ?p ?g) (halts ?l ?g))))
          (and (rides ?p ?l) (not (waits ?p ?f)))))
      (increase (total-cost) 1))))
