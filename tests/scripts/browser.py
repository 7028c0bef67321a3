"""A headless Chromium that a test drives: DevTools' protocol over two pipes, so nothing but Chromium is needed."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60  # seconds for one answer


def program():
    """One that starts, and no snap: Ubuntu's package only says how to get the snap, which sees neither our pipes nor /tmp."""
    for found in filter(None, map(shutil.which, PROGRAMS)):
        done = subprocess.run([found, "--version"], capture_output=True, text=True)
        if done.returncode == 0 and "snap" not in done.stdout:
            return found
    return None


class Browser:
    """with Browser() as b: b.open(path); b.run("document.title")"""

    def __init__(self, dark=False, width=1280, height=1000):
        self.to_it, its_in = os.pipe()[::-1]
        its_out, self.from_it = os.pipe()[::-1]
        self.profile = tempfile.TemporaryDirectory(prefix="rungs_browser_", ignore_cleanup_errors=True)
        words = [
            program(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-extensions",
            f"--user-data-dir={self.profile.name}",
            "--remote-debugging-pipe",
        ]

        def pipes():
            a, b = os.dup(its_in), os.dup(its_out)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=pipes,
            close_fds=False,
        )
        os.close(its_in)
        os.close(its_out)
        self.left, self.number, self.faults = b"", 0, []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask(
            "Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1
        )
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.ask(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.to_it)
        os.close(self.from_it)
        self.profile.cleanup()

    def message(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.left:
            if not select.select([self.from_it], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            self.left += os.read(self.from_it, 1 << 16)
        text, self.left = self.left.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if hasattr(self, "session"):
            request["sessionId"] = self.session
        os.write(self.to_it, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            self.notice(answer)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def notice(self, answer):
        """Errors that the page reports, however it does."""
        method, what = answer.get("method"), answer.get("params") or {}
        if method == "Runtime.exceptionThrown":
            details = what["exceptionDetails"]
            self.faults.append(details.get("exception", {}).get("description") or details.get("text"))
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.faults.append(" ".join(str(part.get("value", part.get("description"))) for part in what["args"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.faults.append(what["entry"]["text"])

    def run(self, script):
        """The value of an expression, or what its promise comes to."""
        result = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script[:80]}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, script):
        end = time.monotonic() + PATIENCE
        while not self.run(script):
            if time.monotonic() > end:
                raise TimeoutError(f"never: {script}; {self.faults}")
            time.sleep(0.05)

    def open(self, path):
        self.ask("Page.navigate", url=path if "://" in str(path) else f"file://{path}")
        self.wait("document.readyState === 'complete' && Number(document.body.dataset.drawn || 0) > 0")

    def picture(self, whole=False):
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])

    def paper(self):
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"])
