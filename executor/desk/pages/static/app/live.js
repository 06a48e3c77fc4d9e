// A page that follows a run: newer documents come as events of the server, answers go to it, and the runs of the journal
// can be chosen. Without a connection the page says so, keeps what it has, and tries again.

const RETRY_SECONDS = 2;
const SILENCE_SECONDS = 15; // the server says something every 5 seconds
let connection = null;
let heard = Date.now();
const CONNECTING = "connecting …";
let trouble = CONNECTING;
let isOutside = false; // the server does not know this page any more
let runList = [];
let lastStanding = "";

const isRunning = () => steps.some((step) => step.status === "running");
runningSeconds = () => (page.run.driven && !page.run.is_over && isRunning() && !trouble ? Math.max(0, Date.now() / 1000 - page.run.began) : 0);

// How the run stands, as a tone and words.
function standing() {
  const { run } = page;
  const asks = listOf("questions", run).filter((each) => !each.answer).length;
  if (trouble) return [trouble === CONNECTING ? "plain" : "bad", trouble];
  if (!run.id) return ["plain", "waits for a run"];
  if (run.is_over) return ["plain", "over"];
  if (asks) return ["warn", run.driven ? "live: waits for you" : "waits for you"];
  if (run.driven) return ["good", "live"];
  return ["plain", `no process drives it: a worker takes it up, or forethought run … --resume ${run.id}`];
}

liveMark = () => {
  const [tone, words] = standing();
  return el("span", { class: `live ${tone}` }, el("i", { "aria-hidden": "true" }), words);
};

// Shows what the server has told, and says to those who listen what they would not notice otherwise.
function showLive(found = page) {
  const before = { status: statusWord(), over: page.run.is_over };
  showDocument(found);
  const fresh = showQuestions();
  const waiting = listOf("questions", page.run).filter((each) => !each.answer).length;
  document.title = plain(`${waiting ? `(${waiting}) ` : ""}${page.title}`);
  const [, words] = standing();
  if (fresh.length) announce(`Question: ${fresh.map((each) => each.text).join(" ")}`);
  else if (page.run.is_over && !before.over) announce(`The run is over: ${statusWord()}`);
  else if (words !== lastStanding) announce(words);
  lastStanding = words;
}

const statusWord = () => (listOf("figures").find((figure) => figure.label === "status") || {}).value || "";

function take(message) {
  const { from, page: found } = JSON.parse(message.data);
  found.run.events = [...runEvents.slice(0, from), ...listOf("events", found.run)];
  showLive(found);
}

function connect() {
  if (connection) connection.close();
  connection = new EventSource(`events?run=${encodeURIComponent(page.run.id || "")}&after=${runEvents.length}`);
  const on = (kind, action) => connection.addEventListener(kind, (message) => {
    heard = Date.now();
    if (trouble) setTrouble("");
    action(message);
  });
  on("document", take);
  on("runs", (message) => showRuns(JSON.parse(message.data)));
  on("beat", () => {});
  connection.addEventListener("gone", (message) => {
    connection.close();
    setTrouble(plain(JSON.parse(message.data).problem));
    setTimeout(connect, RETRY_SECONDS * 5000);
  });
  // The journal is another file now: what stands here may never have been.
  connection.addEventListener("opened", (message) => {
    connection.close();
    if (JSON.parse(message.data).has_run) location.reload();
    else location.replace(location.pathname);
  });
  connection.onerror = () => {
    connection.close();
    lose();
  };
}

function setTrouble(words) {
  if (words === trouble) return;
  trouble = words;
  showLive();
}

async function lose() {
  setTrouble("no connection; trying again … (a server that was started anew prints a new address)");
  try {
    const found = await fetch("alive", { cache: "no-store" });
    isOutside = found.status === 403;
    if (isOutside) setTrouble("the server was started anew: open the address that it has printed");
  } catch { /* nobody is there */ }
  setTimeout(connect, RETRY_SECONDS * 1000 * (isOutside ? 10 : 1));
}

// The runs of the journal.
const runsBox = el("ul", { class: "runs" });
const runsDialog = el("dialog", { class: "runs-dialog", "aria-labelledby": "runs-title" },
  el("h2", { id: "runs-title" }, "Runs in this journal"), runsBox, el("form", { method: "dialog" }, el("button", { class: "button" }, "Close")));
const runsButton = el("button", { class: "tool runs-button", type: "button", "aria-haspopup": "dialog", title: "Runs (r)", onclick: openRuns }, "Runs");

function openRuns() {
  if (runsDialog.open) return;
  fillRuns();
  runsDialog.showModal();
  const here = runsBox.querySelector("[aria-current]") || runsBox.querySelector("a");
  if (here) here.focus();
}

function showRuns(found) {
  runList = found;
  if (!page.run.id && found.some((each) => each.events)) location.reload();
  const others = found.filter((each) => each.run !== page.run.id && each.tone === "warn" && !each.is_over).length;
  renew(runsButton, ["Runs", el("span", { class: `count ${others ? "waiting" : ""}` }, String(found.length))]);
  runsButton.setAttribute("aria-label", `Runs: ${found.length}${others ? `, of which ${others} wait` : ""}`);
  if (runsDialog.open) fillRuns();
}

function ago(time) {
  const seconds = Math.max(0, Date.now() / 1000 - time);
  for (const [unit, size] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
    if (seconds >= 2 * size) return `${Math.floor(seconds / size)} ${unit}s ago`;
  }
  return seconds < 60 ? "just now" : "a minute ago";
}

function fillRuns() {
  const rows = runList.map((each) => {
    const isHere = each.run === page.run.id;
    return el("li", {}, el("a", { href: `?run=${encodeURIComponent(each.run)}`, "aria-current": isHere ? "page" : null },
      el("span", { class: `dot ${each.tone}`, "aria-hidden": "true" }),
      el("span", { class: "run-name" }, el("b", {}, name(each.name || each.run)), el("span", { class: "mono muted" }, name(each.run))),
      el("span", { class: "run-status" }, each.status),
      el("span", { class: "muted run-when" }, ago(each.updated))));
  });
  const focused = [...runsBox.querySelectorAll("a")].indexOf(document.activeElement);
  renew(runsBox, rows.length ? rows : [el("li", { class: "muted" }, "There is none yet.")]);
  if (focused >= 0 && !runsBox.contains(document.activeElement)) (runsBox.querySelectorAll("a")[focused] || runsBox.querySelector("a") || runsDialog).focus();
}

runsBox.addEventListener("keydown", (event) => {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by) return;
  const rows = [...runsBox.querySelectorAll("a")];
  const next = rows[Math.min(rows.length - 1, Math.max(0, rows.indexOf(document.activeElement) + by))];
  if (next) next.focus();
  event.preventDefault();
});

starters.push((tools) => {
  tools.prepend(runsButton);
  document.querySelector(".head").after(askedPart);
  document.getElementById("app").append(runsDialog);
  keys.r = openRuns;
  help.querySelector("dl").append(el("dt", {}, el("kbd", {}, "r")), el("dd", {}, "the runs in the journal"));
  showHead();
  showQuestions();
  connect();
  // Bars of steps at work grow; a connection that says nothing any more is lost.
  setInterval(() => {
    if (chosen.view === "timeline" && views.timeline && runningSeconds()) views.timeline.update();
    if (Date.now() - heard > SILENCE_SECONDS * 1000 && connection.readyState === EventSource.OPEN) {
      heard = Date.now();
      connection.close();
      lose();
    }
  }, 1000);
});
