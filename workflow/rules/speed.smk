# The benchmark stage, made only when asked for by name. Each part takes all cores, so nothing runs beside it.
from captionlab import speed_specs

TIMED_CHUNK = speed_specs.timed_chunk(CAMPAIGN)
TOKENIZER = PATHS.tokenizer("manifest.json")
SUITES = [PATHS.suite("json", suite) for suite in CAMPAIGN.test_suites]
TIMED = {
    "training": [TOKENIZER, PATHS.chunk("manifest.json", TIMED_CHUNK)],
    "encoding": [TOKENIZER, *SUITES],
    "tokenising": [
        TOKENIZER,
        PATHS.chunk("manifest.json", TIMED_CHUNK),
        *[PATHS.chunk("captions.json", chunk) for chunk in CAMPAIGN.chunks],
    ],
    "consensus": [TOKENIZER, PATHS.chunk("captions.json", TIMED_CHUNK)],
    "arithmetic": SUITES,
    "memory": [TOKENIZER],
}


rule measure_speed:
    input:
        lambda wildcards: TIMED.get(wildcards.part, []),
    output:
        PATHS.under("speed/{part}.json"),
    log:
        PATHS.log("measure_speed/{part}"),
    benchmark:
        PATHS.benchmark("measure_speed/{part}")
    wildcard_constraints:
        part=one_of(speed_specs.PARTS),
    threads: workflow.cores or 1
    resources:
        **requested("measure_speed"),
    params:
        root=PATHS.root,
        spec=lambda wildcards: speed_specs.speed_spec(CAMPAIGN, wildcards.part),
        code=FINGERPRINTS["measure_speed"],
    shell:
        "python -m captionlab measure_speed --spec {params.spec:q} --code {params.code}"
        " --root {params.root} --threads {threads} --output {output} > {log} 2>&1"


rule render_speed:
    input:
        [PATHS.under(f"speed/{part}.json") for part in speed_specs.PARTS],
    output:
        table=PATHS.under("tables/speed.md"),
        together=PATHS.under("tables/speed.json"),
        numbers=PATHS.under("tables/speed.csv"),
        latex=PATHS.under("tables/speed.tex"),
    log:
        PATHS.log("render_speed"),
    benchmark:
        PATHS.benchmark("render_speed")
    resources:
        **requested("render_speed"),
    params:
        folder=PATHS.under("speed"),
        spec=speed_specs.speed_table_spec(CAMPAIGN),
        code=FINGERPRINTS["render_speed"],
    shell:
        "python -m captionlab render_speed --spec {params.spec:q} --code {params.code}"
        " --parts {params.folder} --output {output.table} > {log} 2>&1"
