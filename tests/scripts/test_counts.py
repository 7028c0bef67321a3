"""What can be checked of counting without a GPU: rows say why they have none, the comparison with Nsight Compute reads what ncu prints.
What only a GPU can show is in tests/gpu/counts_selftest.cu."""

import sys

import pytest
from program import SOURCE, call, expect, rows_of

sys.path.insert(0, str(SOURCE / "tests" / "gpu"))
import counts_against_ncu as against  # noqa: E402

NCU = """==PROF== Connected to process 4711 (/build/tests/counts_selftest)
==PROF== Profiling "copy_kernel" - 0: 0%....50%....100% - 1 pass
==PROF== Disconnected from process 4711
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","4711","counts_selftest","127.0.0.1","copy_kernel(const double *, double *, unsigned long)","1","13","(256, 1, 1)","(131072, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","byte","268,436,096"
"0","4711","counts_selftest","127.0.0.1","copy_kernel(const double *, double *, unsigned long)","1","13","(256, 1, 1)","(131072, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_write.sum","Mbyte","240.5"
"1","4711","counts_selftest","127.0.0.1","sum_kernel(const double *, double *, unsigned long)","1","13","(256, 1, 1)","(1024, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","Gbyte","0.25"
"1","4711","counts_selftest","127.0.0.1","sum_kernel(const double *, double *, unsigned long)","1","13","(256, 1, 1)","(1024, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_write.sum","byte","0"
"""
OURS = (
    '{"kernel": "copy_kernel", "read": 268436096, "written": 241000000, "written_behind": 27000000}\n'
    '{"kernel": "sum_kernel", "read": 255000000, "written": 10000, "written_behind": 64}\n'
)


def test_the_comparison_reads_what_ncu_prints():
    theirs, ours = against.parse_ncu(NCU), against.parse_ours(OURS)
    expect(
        theirs
        == {"copy_kernel": {"read": 268436096.0, "written": 240.5e6}, "sum_kernel": {"read": 0.25e9, "written": 0.0}},
        f"ncu's table is read with its units: {theirs}",
    )
    lines, worst = against.table(ours, theirs)
    expect(
        abs(worst - 2.0) < 1e-9 and "+2.00%" in lines[3] and "+0.19%" in lines[2],
        f"differences in percent of what the kernel moves: {lines}",
    )
    runs = [{"k": {"read": value}} for value in (1.0, 9.0, 2.0)]
    expect(against.medians(runs) == {"k": {"read": 2.0}}, "medians by kernel and key")
    with pytest.raises(ValueError, match="no permission"):  # refused with its end
        against.parse_ncu("==ERROR== no permission")


@pytest.fixture(scope="module")
def cpu_rows(shared_folder):
    call("run", "double n=1000", "--quick", "--variants", "cpu_*", "--out", shared_folder / "rows.jsonl")
    return shared_folder / "rows.jsonl"


def test_cpu_rows_say_why_they_have_no_counts(cpu_rows):
    found = rows_of(cpu_rows)
    expect(
        found and all(row["counts"] is None and row["counts_reason"] == "runs on the CPU" for row in found),
        "CPU rows say why they have no counts",
    )


def test_doctor_tells_of_counting():
    lines = [line for line in call("doctor").stdout.splitlines() if " counts " in line]
    assert len(lines) in (1, 2) and (lines[0].startswith("ok") or len(lines[0]) > 25), lines
