"""What is known about the small problems: optima, plans, and plans that fail, with the reason."""

from domains.runbook.instances import Service, bridge, patch, problem_of
from planner.testing import Case


def turn(host: int, old: int, new: int, schema: int) -> str:
    """Return the steps that bring one host of the shop from an old version to a new one."""
    one, other = f"shop-host{host}", f"shop-host{3 - host}"
    where = f"shop-version{new}, shop-data, shop-schema{schema}"
    return f"""
drain({one}, {other}, shop)
deploy({one}, shop, shop-version{old}, shop-version{new})
verify({one}, shop, {where})
enable({one}, shop, {where})
"""


PATCH = f"announce(shop)\n{turn(1, 1, 2, 1)}{turn(2, 1, 2, 1)}close(shop)"
MIGRATION = "back_up(shop-data)\nmigrate(shop-data, shop-schema1, shop-schema2, shop)\n"
BRIDGE = (
    "announce(shop)\n"
    + turn(1, 1, 2, 1)
    + "drain(shop-host2, shop-host1, shop)\n"
    + MIGRATION
    + turn(2, 1, 3, 2).replace("drain(shop-host2, shop-host1, shop)", "")
    + turn(1, 2, 3, 2)
    + "close(shop)"
)

CASES = (
    Case(
        "patch",
        patch(),
        18,
        valid=(PATCH,),
        invalid=(
            (PATCH.replace("announce(shop)", ""), "announced(shop)"),
            (PATCH.replace("verify(shop-host1", "verify(shop-host2"), "not serving(shop-host2)"),
            (
                PATCH.replace("enable(shop-host2, shop, shop-version2, shop-data, shop-schema1)", ""),
                "serving(shop-host2)",
            ),
            (
                PATCH.replace("verify(shop-host2, shop, shop-version2, shop-data, shop-schema1)", "").replace(
                    "enable(shop-host2",
                    "roll_back(shop-host2, shop, shop-version1, shop-version2)\nenable(shop-host2",
                ),
                "release(shop-host2, shop-version2), which was retracted by step 8",
            ),
            (
                PATCH.replace(
                    "deploy(shop-host1", "roll_back(shop-host1, shop, shop-version1, shop-version1)\ndeploy(shop-host1"
                ),
                "it comes after deploy(shop-host1, shop, shop-version1, shop-version1)",
            ),
        ),
    ),
    Case(
        "bridge",
        bridge(),
        35,
        valid=(BRIDGE,),
        invalid=(
            (BRIDGE.replace("back_up(shop-data)", ""), "backed_up(shop-data)"),
            (
                f"announce(shop)\n{turn(1, 1, 2, 1)}{MIGRATION}",
                "works_with(shop-version1, shop-schema2)",
            ),
        ),
    ),
    Case(
        "one host alone can never be taken out",
        problem_of("alone", [Service("shop", 1, 2, 1, ((1, 1), (2, 1)))]),
        None,
        invalid=(("announce(shop)\ndrain(shop-host1, shop-host1, shop)", "shop-host1 != shop-host1"),),
    ),
)
