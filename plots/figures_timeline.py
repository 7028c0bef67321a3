"""Timelines that lie beside the results files (NAME-timeline.json), drawn by plots/timeline.py."""
from plots import timeline


def variants_of(calls):
    return ", ".join(dict.fromkeys(timeline.title_of(call).split(": ")[0].split(" ")[0] for call in calls))


def draw(results, out):
    pictures = []
    for path in results.traces:
        try:
            calls = [call for call in timeline.load(path) if call["events"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            results.warnings.append(f"{path}: no timeline: {error}")
            continue
        if calls:
            op = calls[0]["title"].split("/", 1)[0]
            out.mkdir(parents=True, exist_ok=True)
            picture = timeline.draw(calls, out / f"timeline_{op}.svg")
            pictures.append((picture, f"Where a call's time goes: {variants_of(calls)} ({path.name}; recording slows launches: read order, gaps and shares, not times)"))
    return pictures
