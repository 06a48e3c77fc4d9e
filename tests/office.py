"""A world of actions on orders, whose payments are counted, for tests of what is done at most once."""

from __future__ import annotations

from executor import Executor, World
from executor.testing import run_virtual
from planner import Domain

PAY = {"provides": ["paid(o)"], "tags": ["irreversible"]}
CLOSE = {"requires": ["paid(o)"], "provides": ["settled(o)"]}


class Office:
    """A world of actions on orders; `truth` has the facts that hold, and observers are conclusive by default."""

    def __init__(self, **actions):
        self.domain, self.truth, self.calls, self.looks = Domain("office", types=["order"]), set(), [], []
        self.actions = actions or {"pay": PAY, "close": CLOSE}
        for name, fields in self.actions.items():
            self.domain.action(name, {"o": "order"}, **fields)
        self.does, self.results, self.methods = {}, {}, None

    @property
    def world(self):
        world = self.__dict__.setdefault("_world", World(self.methods or self.domain))
        for name in [each for each in self.actions if not world.skills.get(each)]:
            world.handler(name)(self._handler(name))
        return world

    @property
    def payments(self):
        """The calls of irreversible actions."""
        late = {name for name, fields in self.actions.items() if "irreversible" in fields.get("tags", ())}
        return [each for each in self.calls if each.partition("(")[0] in late]

    def _handler(self, name):
        def handler(o):
            self.calls.append(f"{name}({o})")
            for fact in self.actions[name]["provides"]:
                named = fact.replace("(o)", f"({o})")
                (self.truth.discard if named.startswith("not ") else self.truth.add)(named.removeprefix("not "))
            self.does.get(name, lambda: None)()
            return self.results.get(name)

        return handler

    def watch(self, *names, **options):
        """Let observers see the facts called `names`."""
        options = {"conclusive": True, "settle_within": 0, **options}
        for name in names:

            @self.world.observer(f"{name}(o)", **options)
            def see(o, name=name):
                self.looks.append(f"{name}({o})")
                return f"{name}({o})" in self.truth

        return self

    def problem(self, *goal, **fields):
        """Return a problem about two orders."""
        goal = fields.pop("text", list(goal or ("settled(o7)",)))
        aim = {"tasks": fields.pop("tasks")} if "tasks" in fields else {"goal": goal}
        return (self.methods or self.domain).problem(objects={"o7": "order", "o8": "order"}, **aim, **fields)

    def run(self, *goal, constraints=(), text=None, tasks=None, initial=(), **options):
        """Run the problem that these arguments state; return the outcome."""
        fields = {} if text is None else {"text": text}
        fields |= {} if tasks is None else {"tasks": tasks}
        problem = self.problem(*goal, constraints=constraints, initial=initial, **fields)
        return run_virtual(Executor(self.world, **options).run(problem, join=False))
