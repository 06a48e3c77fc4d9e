"""`ForeignTools`: the tools of one source with their contracts, as actions of a domain with handlers.

A source is believed only towards caution. Its tools are irreversible unless a contract that their author has confirmed
says otherwise, or the author trusts the source. A contract that nobody has confirmed is a proposal: its effects are
assumed, no irreversible step rests on them, and a tool that is irreversible has no handler until then. The same holds
of a tool that is not any more what its contract was written for.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from executor.errors import ModelError
from executor.foreign_tools import contracts as contracting
from executor.foreign_tools import tool as foreign
from executor.foreign_tools.contracts import Contract, ContractDocument, ContractFile
from executor.foreign_tools.json_schemas import SchemaReader
from executor.foreign_tools.parameter_roles import Role, decide_roles, format_table, make_json_arguments
from executor.foreign_tools.propose_contracts import propose_by_model, propose_by_rules
from executor.foreign_tools.tool import ForeignTool, ToolAnswer, ToolLimits, ToolServerError, ToolSource, quote_foreign
from executor.tools.containment import describe_error
from executor.tools.json_data import dump_json
from executor.tools.json_observers import find_values
from executor.tools.results import ActionResult, InDoubt
from executor.tools.returned_values import FIELDS, result_of
from executor.tools.world import Withheld
from planner.errors import InputError, did_you_mean, kind_of, printable
from planner.language.declare import Domain
from planner.language.declare.atom_syntax import is_atom_name
from planner.language.documents.document_reader import read_action_fields
from planner.lightweight import dataclass, field
from planner.model import Action
from planner.model.object_names import is_name

_STRANGE: Final = re.compile(r"[^\w.:/-]")
"""Signs that stand in no name of an action."""
_VERDICT: Final = frozenset({"success", "error"})
GONE: Final = "the source has no such tool any more"
CHANGED: Final = "the tool has changed since it was added"


@dataclass(frozen=True, slots=True)
class ToolFinding:
    """What somebody should look at: a `tool` that is "new", "changed", "renamed", "gone" or "refused", and why."""

    tool: str
    what: str
    message: str

    def __str__(self) -> str:
        return printable(f"{self.tool} is {self.what}: {self.message}")


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """One tool with its contract and the roles of its parameters; observers call it by `read`."""

    tool: ForeignTool
    contract: Contract
    roles: tuple[Role, ...]
    tags: frozenset[str]
    action: str
    description: str
    """The author's words, or those of a trusted source: language models may take them for instructions."""
    withheld: str
    """Why it must not be called; empty if it may be."""
    call: Callable[[OfferedTool, dict[str, Any]], Awaitable[ToolAnswer]] = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.tool.name

    @property
    def parameters(self) -> Sequence[str]:
        """The names of its parameters."""
        return [each.name for each in self.roles if each.key]

    @property
    def is_read_only(self) -> bool:
        """Whether an author whom one may believe says that it changes nothing."""
        return "read_only" in self.tags and not self.withheld

    async def read(self, arguments: Mapping[str, Any]) -> Any:
        """Call the tool, and return the data of its answer; raises where it fails."""
        return _read_answer(await self.call(self, make_json_arguments(self.roles, arguments))).data


class ForeignTools(Mapping[str, OfferedTool]):
    """The tools of one `source`; use it with `async with`, then `add_to` a domain.

    `contracts` is a YAML file, which may not exist yet, or a mapping from tools to contracts. `parameters` maps names
    of parameters, or `tool.parameter`, to planning types or "data". With `trusted`, hints and contracts of the source
    count as the author's own. Actions are named as their tools, with `prefix` before; `only` selects tools.
    """

    def __init__(
        self,
        source: ToolSource,
        *,
        contracts: str | Path | Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | None = None,
        trusted: bool = False,
        prefix: str = "",
        only: Collection[str] | None = None,
        limits: ToolLimits | None = None,
    ) -> None:
        if not (isinstance(prefix, str) and (prefix == "" or is_atom_name(prefix))):
            raise InputError(f"prefix must begin the name of an action, got {prefix!r}", hint="such as prefix='crm_'")
        if limits is not None and not isinstance(limits, ToolLimits):
            raise InputError(f"limits must be ToolLimits, got {limits!r}", hint="such as ToolLimits(call_seconds=30)")
        self.source = source
        self.limits = limits or ToolLimits()
        self.findings: list[ToolFinding] = []
        """What was found amiss when the tools were listed, and since."""
        self._parameters = _check_mapping(parameters, "parameters")
        self._trusted, self._prefix = trusted, prefix
        self._only = None if only is None else frozenset([only] if isinstance(only, str) else only)
        self._file = ContractFile.read(contracts) if isinstance(contracts, str | Path) else None
        self._given = {} if self._file is not None else _check_mapping(contracts, "contracts")
        self._listed: dict[str, ForeignTool] = {}
        self._contracts: dict[str, Contract] = {}
        self._offered: dict[str, OfferedTool] = {}
        self._latest: Sequence[ForeignTool] = ()
        """The tools as the source has listed them last."""
        self._stale: dict[str, str] = {}
        """Why tools must not be called as they are now, by name."""
        self._refreshing = asyncio.Lock()

    async def __aenter__(self) -> Self:
        """Connect and list the tools; raises `ToolServerError`, or `InputError` for contracts that do not fit."""
        try:
            await self._within_limit(self.source.open(), "connect")
            self.take(await self._within_limit(self.source.list_tools(), "list its tools"))
        except BaseException:
            await self.source.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect."""
        await self.source.close()

    async def _within_limit(self, answer: Awaitable[Any], what: str) -> Any:
        try:
            async with asyncio.timeout(self.limits.connect_seconds):
                return await answer
        except TimeoutError:
            seconds = f"{self.limits.connect_seconds:g} s"
            raise ToolServerError(f"{self.source.name} did not {what} within {seconds}") from None

    def take(self, tools: Iterable[ForeignTool]) -> None:
        """Take over the tools of the source, with their contracts."""
        self.findings.clear()
        self._listed = self._select(tools)
        stated = {**(self._file.contracts if self._file else {}), **self._read_given()}
        found = {each.name: self._find_declared(each, stated) for each in self._listed.values()}
        self._contracts = {name: each for name, each in found.items() if each is not None}
        self._note_gone(stated)
        lacking = [each for name, each in self._listed.items() if name not in self._contracts]
        self._propose(lambda roles: propose_by_rules(lacking, roles), lacking)

    def _select(self, tools: Iterable[ForeignTool]) -> dict[str, ForeignTool]:
        """Return the tools that are wanted and within the limits, by name."""
        found: dict[str, ForeignTool] = {}
        listed = list(tools)
        if len(listed) > self.limits.tools:
            limit = f"{self.limits.tools:,} (ToolLimits.tools)"
            raise ToolServerError(f"{self.source.name} lists {len(listed):,} tools, more than {limit}")
        for each in listed:
            if self._only is not None and each.name not in self._only:
                continue
            parts = {"words": each.description, "input": each.input_schema, "output": each.output_schema}
            name, size = quote_foreign(each.name), len(dump_json(parts))
            if each.name in found:
                self.findings.append(ToolFinding(name, "refused", "there are two tools of this name; the first counts"))
            elif size > self.limits.schema_characters:
                limit = f"{self.limits.schema_characters:,} (ToolLimits.schema_characters)"
                why = f"its description and schemas have {size:,} characters, more than {limit}"
                self.findings.append(ToolFinding(name, "refused", why))
            else:
                found[each.name] = each
        unknown = (self._only or frozenset()) - {each.name for each in listed}
        for missing in sorted(unknown):
            near = did_you_mean(missing, [each.name for each in listed]) or "nobody can call it"
            self.findings.append(ToolFinding(missing, "gone", f"{GONE}; {near}"))
        return found

    def _read_given(self) -> dict[str, Contract]:
        return {
            name: contracting.read_contract(each, f"contracts[{name!r}]", is_confirmed=True)
            for name, each in self._given.items()
        }

    def _find_declared(self, tool: ForeignTool, stated: Mapping[str, Contract]) -> Contract | None:
        """Return the contract that the author or the source declares, with what has changed since; None without one."""
        if tool.name not in stated:
            if not tool.contract:
                return None
            where = f"{self.source.name}, tool {quote_foreign(tool.name)}"
            try:
                return contracting.read_contract(tool.contract, where, is_confirmed=self._trusted)
            except InputError as error:
                self.findings.append(ToolFinding(quote_foreign(tool.name), "refused", f"its contract: {error}"))
                return None
        found = stated[tool.name]
        seen = found.document.seen
        changes = contracting.compare(seen, contracting.see(tool)) if seen is not None else ()
        if changes:
            self.findings.append(ToolFinding(tool.name, "changed", "; ".join(changes)))
        return Contract(found.document, found.where, found.is_confirmed, changes)

    def _note_gone(self, stated: Mapping[str, Contract]) -> None:
        """Offer what the source has no more as tools that are withheld, so that plans say why they cannot be."""
        new = {each.fingerprint: name for name, each in self._listed.items() if name not in stated}
        for name, contract in stated.items():
            if name in self._listed or (self._only is not None and name not in self._only):
                continue
            seen = contract.document.seen or contracting.SeenDocument()
            other = new.get(seen.fingerprint)
            near = did_you_mean(name, self._listed) if other is None else f"{quote_foreign(other)} has the same schema"
            reason = "; ".join(filter(None, [GONE, near]))
            self.findings.append(ToolFinding(name, "gone" if other is None else "renamed", reason))
            tops = _recall_parameters(contract)
            schema = {
                "type": "object",
                "properties": {key: {} for key in tops},
                "required": [key for key, text in tops.items() if not text.endswith(", optional")],
            }
            self._listed[name] = ForeignTool(name, input_schema=schema, barred=reason)
            self._contracts[name] = contract

    def _propose(
        self, make: Callable[[Mapping[str, tuple[Role, ...]]], Mapping[str, ContractDocument]], tools: list[ForeignTool]
    ) -> None:
        empty = Contract(ContractDocument(), self.source.name)
        roles = {each.name: decide_roles(each, empty, self._parameters, ()) for each in tools}
        self._contracts |= {name: Contract(each, self._say_where(name)) for name, each in make(roles).items()}

    def _say_where(self, tool: str) -> str:
        return f"the proposal for {quote_foreign(tool)}"

    async def propose(self, model: Any = None, *, domain: Domain | None = None, meter: Any = None) -> None:
        """Propose contracts for the tools that have none, by a language `model` in the words of `domain`.

        Without a model, and where it gives no valid answer, the proposals by rules stay, and a finding says why. Write
        them down for confirmation by `write_contracts`.
        """
        lacking = [self._listed[name] for name, each in self._contracts.items() if each.document.proposed_by]
        lacking = [each for each in lacking if not self._contracts[each.name].is_confirmed and not each.barred]
        lacking = [each for each in lacking if self._file is None or each.name not in self._file.contracts]
        if model is None or not lacking:
            return
        declared = "" if domain is None else _describe_vocabulary(domain)
        try:
            found = await propose_by_model(
                model, lacking, declared, lambda tool, document: self._try_contract(tool, document, domain), meter
            )
        except ModelError as error:
            self.findings.append(ToolFinding(self.source.name, "refused", f"no proposals of the model: {error}"))
            return
        self._contracts |= {name: Contract(each, self._say_where(name)) for name, each in found.items()}

    def _try_contract(self, tool: ForeignTool, document: ContractDocument, domain: Domain | None) -> str:
        """Return why a contract cannot be declared for `tool`; an empty text if it can."""
        scratch = Domain("scratch") if domain is None else Domain.of(domain.model)
        try:
            offered = self._offer(tool, Contract(document, "it"), scratch)
            _declare(offered, scratch)
        except InputError as error:
            return str(error.without_place())
        return ""

    def add_to(self, domain: Domain) -> list[Action]:
        """Declare an action for each tool, with its handler; return the actions.

        An action that the domain declares already keeps its declaration, and gets the handler. Raises `InputError`
        where a contract does not fit its tool or the domain.
        """
        _check_domain(domain)
        added = dict[str, str]()
        for tool in self._listed.values():
            offered = self._declare(tool, domain)
            if offered.action in domain.model.handlers:
                other = f" from the tool {added[offered.action]!r}" if offered.action in added else ""
                what = f"the action {offered.action} of the tool {quote_foreign(tool.name)!r}"
                hint = "prefix='…' or 'action: NAME' in its contract names the action otherwise, only=[…] leaves it out"
                raise InputError(f"{what} has a handler already{other}", hint=hint)
            domain.bind(offered.action, self._choose_handler(offered))
            self._offered[tool.name] = offered
            added[offered.action] = quote_foreign(tool.name)
        return [domain.model.actions[name] for name in added]

    def _declare(self, tool: ForeignTool, domain: Domain) -> OfferedTool:
        """Declare the action of `tool`, unless it is declared; what a source says that does not fit is left out."""
        offered = self._offer(tool, self._contracts[tool.name], domain)
        if offered.action in domain.model.actions:
            return offered
        try:
            _declare(offered, domain)
        except InputError as error:
            contract = offered.contract
            if contract.is_confirmed or (self._file is not None and tool.name in self._file.contracts):
                raise
            self.findings.append(ToolFinding(quote_foreign(tool.name), "refused", f"its contract: {error}"))
            self._propose(lambda roles: propose_by_rules([tool], roles), [tool])
            offered = self._offer(tool, self._contracts[tool.name], domain)
            _declare(offered, domain)
        return offered

    def _offer(self, tool: ForeignTool, contract: Contract, domain: Domain | None) -> OfferedTool:
        action = contract.document.action or self._prefix + (_STRANGE.sub("_", tool.name) or "_")
        action = action if is_atom_name(action) else f"tool_{action}"
        known = None if domain is None else domain.model.actions.get(action)
        if known is not None:
            contract = _contract_of(known, contract)
        types = () if domain is None else domain.model.types
        roles = decide_roles(tool, contract, self._parameters, types, words=self._trusted)
        tags = self._decide_tags(tool, contract)
        stated = contract.document.description if contract.is_confirmed else ""
        description = stated or (tool.description if self._trusted else "")
        held = self._explain_withheld(tool, contract, tags)
        return OfferedTool(tool, contract, roles, tags, action, description, held, self._call)

    def _decide_tags(self, tool: ForeignTool, contract: Contract) -> frozenset[str]:
        """Return the tags of the action: those that the author states, or else what caution demands."""
        stated = frozenset(contract.document.tags)
        if contract.is_confirmed and contract.is_stated:
            return stated
        tags = frozenset(tool.hints.tags if self._trusted else ("irreversible",))
        tags |= {"needs_approval"} if tool.needs_approval else set()
        if contract.is_confirmed:
            return tags
        return tags | (stated & {"needs_approval", "needs_observed"}) | {"unconfirmed"}

    def _explain_withheld(self, tool: ForeignTool, contract: Contract, tags: Collection[str]) -> str:
        """Return why the action must have no handler; an empty text if it may have one."""
        file = self._file.path if self._file is not None else "a file of contracts"
        if tool.barred:
            return tool.barred
        if contract.changes:
            changed = "; ".join(contract.changes)
            hint = f"write_contracts() notes that in {file}, to be confirmed"
            return f"it is not the tool that its contract was written for ({contract.where}): {changed}; {hint}"
        if "unconfirmed" in tags and "irreversible" in tags:
            hint = f"write_contracts() writes it to {file}; set 'confirmed: true' there"
            return f"it may be irreversible, and its contract is only proposed; {hint}"
        return ""

    def _choose_handler(self, offered: OfferedTool) -> Callable[..., Any]:
        """Return what is bound to the action: a function as it stands, unless objects must become whole numbers."""
        if offered.withheld:
            return Withheld(offered.withheld)
        function = self.source.function_of(offered.name)
        is_numbered = any(role.is_whole and role.data is None for role in offered.roles)
        return self._make_handler(offered) if function is None or is_numbered else function

    def _make_handler(self, offered: OfferedTool) -> Callable[..., Any]:
        """Return the handler of an action: it calls the tool, unless that has changed."""

        async def call_tool(**arguments: Any) -> Any:
            try:
                given = make_json_arguments(offered.roles, arguments)
            except foreign.ToolFailed as error:
                return ActionResult.failed(str(error))
            try:
                answer = await self._call(offered, given)
            except ToolServerError as error:
                return ActionResult.failed(str(error))
            try:
                return _read_answer(answer, offered.contract.document)
            except InputError as error:
                raise InDoubt(f"the answer of {offered.name} cannot be used: {error}") from error

        call_tool.__name__ = offered.action
        schema = offered.tool.output_schema
        is_object = isinstance(schema, Mapping) and "properties" in schema
        returned = SchemaReader(schema, is_open=False).type_of(schema, f"{offered.name}_result") if is_object else Any
        call_tool.__annotations__ = {"return": returned}
        return call_tool

    async def _call(self, offered: OfferedTool, arguments: dict[str, Any]) -> ToolAnswer:
        """Call a tool; raises `ToolServerError` where it was not called, `InDoubt` where nobody knows what it did."""
        if self.source.is_changed or "irreversible" in offered.tags:
            await self.refresh()
        stale = self._explain_stale(offered)
        if stale:
            raise ToolServerError(f"{offered.name} was not called: {stale}")
        try:
            async with asyncio.timeout(self.limits.call_seconds):
                answer = await self.source.call(offered.name, arguments)
        except TimeoutError:
            limit = f"{self.limits.call_seconds:g} s (ToolLimits.call_seconds)"
            raise InDoubt(f"{self.source.name} did not answer within {limit}") from None
        size = _measure(answer)
        if size > self.limits.answer_characters:
            limit = f"{self.limits.answer_characters:,} (ToolLimits.answer_characters)"
            raise InDoubt(f"{offered.name} answered with {size:,} characters, more than {limit}")
        return answer

    def _explain_stale(self, offered: OfferedTool) -> str:
        """Return why a tool must not be called as it was added to a domain; an empty text if it may be."""
        if offered.name in self._stale or self._listed.get(offered.name) is offered.tool:
            return self._stale.get(offered.name, "")
        finding = _compare(offered.tool, self._listed, self._listed)  # others were taken since
        return "" if finding is None else f"{CHANGED}: {finding.message}"

    async def take_changes(self) -> list[ToolFinding]:
        """List the tools again, take new and changed ones over, and return what has changed.

        `add_to` declares them in another domain; what earlier domains have of changed ones is not called. Contracts are
        compared with the tools as they are now. Raises `ToolServerError` where the source does not answer.
        """
        found = await self.refresh()
        if found:
            self.take(self._latest)
            self._stale.clear()
        return found

    async def refresh(self) -> list[ToolFinding]:
        """List the tools again, and return what has changed since they were added; changed ones are not called.

        Raises `ToolServerError` where the source does not answer.
        """
        async with self._refreshing:
            self.source.is_changed = False
            try:
                listed = await self._within_limit(self.source.list_tools(), "list its tools")
            except ToolServerError:
                self.source.is_changed = True
                raise
            self._latest = listed
            now = {each.name: each for each in listed}
            found = list[ToolFinding]()
            self._stale.clear()
            for name, before in self._listed.items():
                finding = None if before.barred else _compare(before, now, self._listed)
                if finding is not None:
                    self._stale[name] = f"{CHANGED}: {finding.message}"
                    found.append(finding)
            if self._only is None:
                usable = {name for name, each in self._listed.items() if not each.barred}
                new = [quote_foreign(name) for name, each in now.items() if not (name in usable or each.barred)]
                found += [ToolFinding(each, "new", "it has no action: take_changes() takes it") for each in new]
            self.findings += [each for each in found if each not in self.findings]
            return found

    def write_contracts(self, path: str | Path | None = None) -> Path:
        """Write what is to be confirmed to the file of contracts, and return its path.

        That is: proposals, contracts that the source declares, and contracts whose tools have changed, with what has
        changed. Contracts of the file whose tools nobody has described yet get the description. Comments stay.
        """
        file = self._file if path is None else ContractFile.read(path)
        if file is None:
            raise InputError("there is no file of contracts", hint="write_contracts('crm.yaml')")
        news: dict[str, ContractDocument] = {}
        for name, contract in self._contracts.items():
            tool, document = self._listed[name], contract.document
            update: dict[str, Any] = {"seen": contracting.see(tool)}
            if tool.barred or (name in file.contracts and document.seen is not None and not contract.changes):
                continue
            if contract.changes:
                why = f"it has changed: {'; '.join(contract.changes)}"
                update |= {"confirmed": False, "why": why, "parameters": _without_gone(tool, document)}
            elif name not in file.contracts:
                roles = {each.name: each.type_name or contracting.DATA for each in self[name].roles}
                written = {**{key: _as_written(each) for key, each in roles.items()}, **document.parameters}
                by = {} if document.proposed_by or contract.is_confirmed else {"proposed_by": self.source.name}
                update |= {"confirmed": contract.is_confirmed, "parameters": written, **by}
            news[name] = document.model_copy(update=update)
        if news:
            file.write(self.source.name, news)
        return file.path

    def describe(self) -> str:
        """Return a table: each tool with its tags and contract, each parameter with its role, and the rule for it."""
        rows = [("tool", "parameter", "is", "of type", "because")]
        lines = []
        for name in self:
            each = self[name]
            state = "confirmed" if each.contract.is_confirmed else "not confirmed"
            by = f", proposed by {each.contract.document.proposed_by}" if each.contract.document.proposed_by else ""
            held = f"; withheld: {each.withheld}" if each.withheld else ""
            lines.append(f"{each.action}: {state}{by}; {', '.join(sorted(each.tags)) or 'no tags'}{held}")
            document = each.contract.document
            for word in ("requires", "provides", "modifies"):
                texts = getattr(document, word)
                lines += [f"  {word} {', '.join(texts)}"] if texts else []
            rows += [
                (quote_foreign(name), role.name, role.type_name or "data", role.kind or "-", role.rule)
                for role in each.roles
            ]
        found = [f"! {each}" for each in self.findings]
        return printable("\n".join([*lines, "", *([format_table(rows)] if len(rows) > 1 else []), *found]))

    def __getitem__(self, name: str) -> OfferedTool:
        """Return a tool by name; raises `InputError` for an unknown one."""
        if name not in self._listed:
            hint = did_you_mean(str(name), self._listed) or f"there are {', '.join(self._listed) or 'none'}"
            raise InputError(f"{self.source.name} has no tool {name!r}", hint=hint)
        return self._offered.get(name) or self._offer(self._listed[name], self._contracts[name], None)

    def __contains__(self, name: object) -> bool:
        return name in self._listed

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)


def _check_mapping(value: Any, what: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(each, str) for each in value):
        raise InputError(f"{what} must be a mapping from names, got {value!r}")
    return dict(value)


def _recall_parameters(contract: Contract) -> dict[str, str]:
    """Return the parameters of a tool that is gone: those that were seen, or else the names in its contract."""
    document = contract.document
    if document.seen is not None:
        return {key: text for key, text in document.seen.parameters.items() if "." not in key}
    return {name: "" for name in sorted(contract.arguments | set(document.parameters)) if is_name(name) and name != "_"}


def _without_gone(tool: ForeignTool, document: ContractDocument) -> dict[str, Any]:
    """Return the roles of a contract without the data parameters that its tool does not have any more."""
    return {
        name: role
        for name, role in document.parameters.items()
        if name in tool.properties or (isinstance(role, list) and role != [contracting.DATA])
    }


def _as_written(role: str) -> list[str]:
    """Return a role as the schema of contracts keeps it."""
    return [each.strip() for each in role.split("|")]


def _contract_of(action: Action, other: Contract) -> Contract:
    """Return the contract that an author has declared as an action, in place of an `other` one for the same tool."""
    planning = {each.name.removeprefix("?"): list(each.types) for each in action.parameters}
    data = {each.name: [contracting.DATA] for each in action.data}
    paths: Any = {"created": other.document.created, "found": other.document.found} if other.is_confirmed else {}
    document = ContractDocument(parameters={**planning, **data}, tags=sorted(action.tags), **paths)
    return Contract(document, f"the action {action.name}", is_confirmed=True, changes=other.changes)


def _check_domain(domain: Any) -> None:
    if not isinstance(domain, Domain):
        hint = "make it with Domain(…), or Domain.of(model), and the World after that"
        raise InputError(f"tools are added to a Domain, not to {kind_of(domain)}", hint=hint)


def _describe_vocabulary(domain: Domain) -> str:
    """Return the types and predicates of a domain, a line each."""
    model = domain.model
    heads = [
        f"- {each.name}({', '.join(' | '.join(p.types) for p in each.parameters)})"
        for each in model.predicates.values()
    ]
    return "\n".join([f"Types: {', '.join(model.types)}", "Facts:", *heads])


def _declare(offered: OfferedTool, domain: Domain) -> None:
    """Declare the action of a tool; raises `InputError`, which says whose contract is amiss."""
    document = offered.contract.document
    try:
        parameters: dict[str, Any] = {}
        for role in offered.roles:
            if role.data is not None:
                parameters[role.name] = role.data
                continue
            for name in [each.strip() for each in role.type.split("|")] if isinstance(role.type, str) else ():
                if name not in domain.model.types and name != "object":
                    domain.type(name)
            parameters[role.name] = role.type
        for kind in document.creates.values():
            if kind not in domain.model.types:
                domain.type(kind)
        fields = read_action_fields(document)
        fields |= {"tags": sorted(offered.tags), "description": offered.description}
        if not offered.contract.is_confirmed:
            fields |= {"similes": (), "examples": ()}  # language models take them for the author's words
        domain.action(offered.action, parameters, **fields)
    except InputError as error:
        raise InputError(f"{offered.contract.where}: {error.message}", hint=error.hint) from None


def _read_answer(answer: ToolAnswer, contract: ContractDocument | None = None) -> ActionResult:
    """Convert the answer of a tool to a result: its data, whether they report a failure, what it created and found.

    The fields of a result that tell the executor what is so, and what to remember, are not taken from a tool. Raises
    `ToolFailed` for data that report a failure, and `InputError` where a path of the `contract` leads nowhere.
    """
    data = answer.data
    said = ActionResult()
    if isinstance(data, Mapping):
        said = result_of({key: value for key, value in data.items() if key not in FIELDS or key in _VERDICT})
    if not said.success:
        raise foreign.ToolFailed(quote_foreign(said.error))
    body = {"data": data, "text": answer.text}
    created, found = (contract.created, contract.found) if contract is not None else ({}, {})
    objects = {name: _as_name(find_values(body, path)[0]) for name, path in created.items()}
    turned_up = {kind: [_as_name(each) for each in find_values(body, path)] for kind, path in found.items()}
    return ActionResult(text=answer.text, data=data, created=objects, found=turned_up)


def _as_name(value: Any) -> Any:
    """Return a whole number as text, which can name an object; any other value unchanged."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _measure(answer: ToolAnswer) -> int:
    """Return the number of characters of an answer as JSON."""
    try:
        return len(dump_json({"data": answer.data})) + len(answer.text)
    except Exception as error:  # noqa: BLE001 - values of other frameworks may do anything
        raise InDoubt(f"the answer cannot be read: {describe_error(error)}") from None


def _compare(before: ForeignTool, now: Mapping[str, ForeignTool], listed: Collection[str]) -> ToolFinding | None:
    """Return how a tool has changed since it was listed; None if it has not."""
    tool = now.get(before.name)
    if tool is not None:
        changes = contracting.compare(contracting.see(before), contracting.see(tool))
        return ToolFinding(before.name, "changed", "; ".join(changes)) if changes else None
    others = [each.name for each in now.values() if each.name not in listed and each.fingerprint == before.fingerprint]
    if others:
        return ToolFinding(before.name, "renamed", f"{GONE}; {quote_foreign(others[0])} has the same schema")
    return ToolFinding(before.name, "gone", GONE)
