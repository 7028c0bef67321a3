"""Timelines that lie beside the results files (NAME-timeline.json), drawn as plots/timeline.py does."""
import timeline


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
            png = out / f"timeline_{op}.png"
            out.mkdir(parents=True, exist_ok=True)
            timeline.draw(calls, png)
            timeline.draw(calls, png.with_suffix(".svg"))
            pictures.append((png, f"Where a call's time goes: {variants_of(calls)} ({path.name}; recording makes launches slower: order, gaps and shares, no times to quote)"))
    return pictures
