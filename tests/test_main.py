"""How a step starts; each case in a fresh Python, as every job of the workflow is one."""

from captionlab.speed.startup import python

_START = "import gc, sys\nfrom captionlab.__main__ import imported_step\n"


def _printed(code):
    return python("-c", _START + code).split()


def test_the_collector_works_again_after_a_step_is_imported_and_skips_what_stays():
    enabled, frozen = _printed("imported_step('train_run'); print(gc.isenabled(), gc.get_freeze_count())")
    assert enabled == "True"
    assert int(frozen) > 100_000


def test_a_second_import_in_one_process_freezes_nothing_more():
    first, second = _printed(
        "imported_step('render_final'); first = gc.get_freeze_count(); kept = [[] for _ in range(10_000)]\n"
        "imported_step('render_final'); print(first, gc.get_freeze_count())"
    )
    assert int(second) - int(first) < 1_000


def test_the_collector_works_again_where_an_import_fails():
    code = "try: imported_step('no_such_step')\nexcept ModuleNotFoundError: print(gc.isenabled())"
    assert _printed(code) == ["True"]


def test_a_caller_who_wants_no_collector_keeps_it_so():
    code = "gc.disable(); imported_step('render_final'); print(gc.isenabled(), gc.get_freeze_count())"
    assert _printed(code) == ["False", "0"]


def test_garbage_of_the_work_itself_is_still_collected():
    code = (
        "import weakref; imported_step('render_final')\n"
        "class Ring: pass\n"
        "ring = Ring(); ring.self = ring; seen = weakref.ref(ring); del ring; gc.collect(); print(seen() is None)"
    )
    assert _printed(code) == ["True"]
