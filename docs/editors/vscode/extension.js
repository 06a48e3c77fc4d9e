// Starts `forethought lsp` for planning files, and runs solve and explain on the file in view.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function command() {
  return vscode.workspace.getConfiguration("forethought").get("command", "forethought");
}

function quote(path) {
  return process.platform === "win32" ? `"${path}"` : `'${path.replaceAll("'", "'\\''")}'`;
}

// The domain of a problem is the file beside it that is called domain; a YAML file may hold both.
async function filesOf(document) {
  const uri = document.uri;
  const ending = uri.path.slice(uri.path.lastIndexOf("."));
  const domain = vscode.Uri.joinPath(uri, "..", `domain${ending}`);
  try {
    await vscode.workspace.fs.stat(domain);
  } catch {
    return [uri.fsPath];
  }
  return domain.fsPath === uri.fsPath ? [uri.fsPath] : [domain.fsPath, uri.fsPath];
}

async function run(verb) {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    return;
  }
  await editor.document.save();
  const files = await filesOf(editor.document);
  const terminal = vscode.window.createTerminal("Forethought");
  terminal.show();
  terminal.sendText([command(), verb, ...files.map(quote)].join(" "));
}

function activate(context) {
  const server = { command: command(), args: ["lsp", "--stdio"] };
  const chosen = ["pddl", "hddl", "yaml"].map((language) => ({ scheme: "file", language }));
  client = new LanguageClient("forethought", "Forethought", server, { documentSelector: chosen });
  client.start();
  for (const verb of ["solve", "explain"]) {
    context.subscriptions.push(vscode.commands.registerCommand(`forethought.${verb}`, () => run(verb)));
  }
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
