"""GitHub's `${{ }}` expressions: evaluated as a runner would, for the events that workflows ask for. A name that no event has is `''` to GitHub
and to its schema; here it is an error, so that a typo in a guard does not open it."""
import re

REPOSITORY = {"full_name": "us/rungs", "default_branch": "main"}
CONTEXT = {"repository": "us/rungs", "run_id": "1001", "ref": "refs/heads/topic"}


def pull(head):
    return {**CONTEXT, "event_name": "pull_request", "ref": "refs/pull/7/merge",
            "event": {"repository": REPOSITORY, "pull_request": {"number": 7, "head": {"repo": {"full_name": head}}}}}


# What of GitHub's payloads the workflows use. A name that is not in here is put here once it has been looked up in GitHub's documentation.
OWN, FORK = pull("us/rungs"), pull("stranger/rungs")
BY_HAND = {**CONTEXT, "event_name": "workflow_dispatch", "event": {"repository": REPOSITORY}}
PUSH = {**CONTEXT, "event_name": "push", "event": {"repository": REPOSITORY}}
WEEKLY = {**CONTEXT, "event_name": "schedule", "event": {"repository": REPOSITORY}}
EVENTS = {"pull_request": [OWN, FORK], "workflow_dispatch": [BY_HAND], "push": [PUSH], "schedule": [WEEKLY]}
STATES = ("success", "failure", "skipped", "cancelled")
FUNCTIONS = {"always": lambda state: True, "success": lambda state: state == "success", "failure": lambda state: state == "failure",
             "cancelled": lambda state: state == "cancelled"}
TOKEN = re.compile(r"\s*('(?:[^']|'')*'|[\w-]+(?:\.[\w-]+)*(?:\(\))?|\|\||&&|==|!=|!|\(|\))")


class Unknown(Exception):
    """A name or a sign that means nothing here."""


class Expression:
    """One expression; contexts: a list, of which at least one has to know each name. evaluate() takes one of them."""

    def __init__(self, text, contexts):
        self.text, self.names, self.tokens, at = text, [], [], 0
        while at < len(text.rstrip()):
            found = TOKEN.match(text, at)
            if not found:
                raise Unknown(f"{text}: {text[at:]}")
            self.tokens.append(found.group(1))
            at = found.end()
        for token in self.tokens:
            if re.match(r"[\w]", token) and not token.endswith("()"):
                if not any(known(token, context) for context in contexts):
                    raise Unknown(f"{text}: no event has {token}")
            elif token.endswith("()") and token[:-2] not in FUNCTIONS:
                raise Unknown(f"{text}: no function {token}")

    def has_status(self):
        return any(token.endswith("()") for token in self.tokens)

    def evaluate(self, context, state="success"):
        self.rest, self.context, self.state = list(self.tokens), context, state
        value = self.either()
        if self.rest:
            raise Unknown(f"{self.text}: {' '.join(self.rest)} is left over")
        return value

    def either(self):
        value = self.both()
        while self.rest[:1] == ["||"]:
            self.rest.pop(0)
            other = self.both()
            value = value or other
        return value

    def both(self):
        value = self.compared()
        while self.rest[:1] == ["&&"]:
            self.rest.pop(0)
            other = self.compared()
            value = value and other
        return value

    def compared(self):
        value = self.single()
        while self.rest[:1] in (["=="], ["!="]):
            equal = self.rest.pop(0) == "=="
            value = (folded(value) == folded(self.single())) == equal
        return value

    def single(self):
        if not self.rest:
            raise Unknown(f"{self.text}: ends early")
        token = self.rest.pop(0)
        if token == "!":
            return not self.single()
        if token == "(":
            value = self.either()
            if self.rest[:1] != [")"]:
                raise Unknown(f"{self.text}: no )")
            self.rest.pop(0)
            return value
        if token.startswith("'"):
            return token[1:-1].replace("''", "'")
        if token.endswith("()"):
            return FUNCTIONS[token[:-2]](self.state)
        if not re.match(r"\w", token):
            raise Unknown(f"{self.text}: {token} where a value is expected")
        return find(token, self.context)


def folded(value):
    return value.lower() if isinstance(value, str) else value


def find(name, context):
    for part in name.split("."):
        context = context.get(part) if isinstance(context, dict) else None
    return "" if context is None else context


def known(name, context):
    for part in name.split("."):
        if not isinstance(context, dict) or part not in context:
            return False
        context = context[part]
    return True


def contexts_of(workflow, job=None, inputs=None, needs=None):
    """What expressions of a workflow, or of a job of it, may name, for each of its events. needs: job -> result."""
    asked = (workflow["on"].get("workflow_dispatch") or {}).get("inputs") or {}
    needed = workflow["jobs"][job].get("needs", []) if job else []
    needed = [needed] if isinstance(needed, str) else needed
    results = {name: {"result": (needs or {}).get(name, "success")} for name in needed}
    found = []
    for name in workflow["on"]:
        for github in EVENTS[name]:
            given = {k: (inputs or {}).get(k, v.get("default", "")) for k, v in asked.items()} if name == "workflow_dispatch" else {}
            found.append({"github": github, "inputs": given, "needs": results})
    return found


def of(text):
    """The expressions of a text."""
    return re.findall(r"\$\{\{(.*?)\}\}", str(text))


def substitute(text, context, contexts):
    return re.sub(r"\$\{\{(.*?)\}\}", lambda found: str(Expression(found.group(1), contexts).evaluate(context)), str(text))


def holds(condition, context, contexts, state="success"):
    """An `if`, with or without ${{ }}; one that asks for no state means success() as well."""
    if not condition:
        return state == "success"
    expression = Expression(re.sub(r"^\s*\$\{\{(.*)\}\}\s*$", r"\1", str(condition)), contexts)
    return bool(expression.evaluate(context, state)) and (expression.has_status() or state == "success")
