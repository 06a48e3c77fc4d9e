"""What is known about the small problems: optima, plans, and plans that fail, with the reason."""

from domains.incident.instances import release, shop, silent
from htn.testing import HtnCase

SHOP = """
acknowledge(outage)
notify(acme, outage)
read_logs(store)
restart(store)
read_logs(cart)
restart(cart)
read_logs(shop)
restart(shop)
write_up(outage)
"""

ESCALATION = """
page(ada)
try_to_page(ben)
page(eve)
approve(eve, store)
"""

RELEASE = f"""
acknowledge(outage)
read_logs(store)
{ESCALATION}
roll_back(store)
notify(acme, outage)
read_logs(shop)
restart(shop)
notify(wile, outage)
write_up(outage)
"""

CASES = (
    HtnCase(
        "shop",
        shop(),
        17,
        valid=(SHOP,),
        invalid=(
            (SHOP.replace("read_logs(store)\n", ""), "inspected(store)"),
            (SHOP.replace("restart(store)\n", ""), "not (needs(cart, store) and down(store))"),
            (SHOP.replace("notify(acme, outage)\n", ""), "no decomposition of the tasks gives these steps"),
            ("write_up(outage)" + SHOP.replace("write_up(outage)\n", ""), "no decomposition"),
        ),
    ),
    HtnCase(
        "release",
        release(),
        22,
        valid=(RELEASE,),
        invalid=(
            (RELEASE.replace("approve(eve, store)", ""), "approved(store)"),
            (RELEASE.replace("try_to_page(ben)\n", ""), "no decomposition"),
            (
                RELEASE.replace("read_logs(store)", "").replace("roll_back(store)", "fail_over(store)"),
                "replicated(store), which was retracted by step",
            ),
        ),
    ),
    HtnCase("no manager answers", silent(), None),
)
