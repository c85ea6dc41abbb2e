# Tables, claims, figures and pages are rendered from JSON alone; none of these jobs imports torch.
TABLES = [
    PATHS.under(f"tables/{name}")
    for name in (
        "final.md",
        "final.html",
        "screen.md",
        "runs.md",
        "claims.md",
        "duplicates.md",
    )
]


rule render_final:
    input:
        results,
    output:
        final=report(
            PATHS.under("tables/final.md"),
            caption="../report/final.rst",
            category="Tables",
            labels={"table": "final", "format": "Markdown"},
        ),
        benchmarks=report(
            PATHS.under("tables/benchmarks.csv"),
            caption="../report/benchmarks.rst",
            category="Tables",
            labels={"table": "benchmarks", "format": "CSV"},
        ),
    log:
        PATHS.log("render_final"),
    benchmark:
        PATHS.benchmark("render_final")
    resources:
        **requested("render_final"),
    params:
        root=PATHS.root,
        lost=lambda wildcards: lost(PATHS.under("tables/final.md")),
        spec=table_specs.table_spec(CAMPAIGN),
        code=FINGERPRINTS["render_final"],
    shell:
        "python -m captionlab render_final --spec {params.spec:q} --code {params.code}"
        " --root {params.root} --output {output.final} > {log} 2>&1"


rule render_screen:
    input:
        results,
    output:
        report(
            PATHS.under("tables/screen.md"),
            caption="../report/screen.rst",
            category="Tables",
            labels={"table": "screen", "format": "Markdown"},
        ),
    log:
        PATHS.log("render_screen"),
    benchmark:
        PATHS.benchmark("render_screen")
    resources:
        **requested("render_screen"),
    params:
        root=PATHS.root,
        spec=table_specs.table_spec(CAMPAIGN),
        code=FINGERPRINTS["render_screen"],
    shell:
        "python -m captionlab render_screen --spec {params.spec:q} --code {params.code}"
        " --root {params.root} --output {output} > {log} 2>&1"


rule render_runs:
    input:
        results,
    output:
        report(
            PATHS.under("tables/runs.md"),
            caption="../report/runs.rst",
            category="Tables",
            labels={"table": "runs", "format": "Markdown"},
        ),
    log:
        PATHS.log("render_runs"),
    benchmark:
        PATHS.benchmark("render_runs")
    resources:
        **requested("render_runs"),
    params:
        root=PATHS.root,
        spec=table_specs.table_spec(CAMPAIGN),
        code=FINGERPRINTS["render_runs"],
    shell:
        "python -m captionlab render_runs --spec {params.spec:q} --code {params.code}"
        " --root {params.root} --output {output} > {log} 2>&1"


rule render_claims:
    input:
        results,
    output:
        report(
            PATHS.under("tables/claims.md"),
            caption="../report/claims.rst",
            category="Tables",
            labels={"table": "claims", "format": "Markdown"},
        ),
    log:
        PATHS.log("render_claims"),
    benchmark:
        PATHS.benchmark("render_claims")
    resources:
        **requested("render_claims"),
    params:
        root=PATHS.root,
        spec=table_specs.table_spec(CAMPAIGN),
        code=FINGERPRINTS["render_claims"],
    shell:
        "python -m captionlab render_claims --spec {params.spec:q} --code {params.code}"
        " --root {params.root} --output {output} > {log} 2>&1"


rule count_duplicates:
    input:
        captions=[PATHS.chunk("captions.json", chunk) for chunk in CAMPAIGN.chunks],
        suites=[
            PATHS.suite("json", suite)
            for suite in (CAMPAIGN.development_suite, *CAMPAIGN.test_suites)
        ],
    output:
        counts=PATHS.under("hygiene/duplicates.json"),
        table=report(
            PATHS.under("tables/duplicates.md"),
            caption="../report/duplicates.rst",
            category="Tables",
            labels={"table": "duplicates", "format": "Markdown"},
        ),
    log:
        PATHS.log("count_duplicates"),
    benchmark:
        PATHS.benchmark("count_duplicates")
    resources:
        **requested("count_duplicates"),
    params:
        root=PATHS.root,
        spec=table_specs.table_spec(CAMPAIGN),
        code=FINGERPRINTS["count_duplicates"],
    shell:
        "python -m captionlab count_duplicates --spec {params.spec:q} --code {params.code}"
        " --root {params.root} --output {output.counts} --table {output.table}"
        " > {log} 2>&1"


rule draw_figure:
    input:
        results,
        queries=lambda wildcards: [
            PATHS.evaluation("lookup-queries.jsonl", run) for run in CAMPAIGN.runs
        ],
    output:
        drawn=report(
            PATHS.under("figures/{figure}.svg"),
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
        picture=PATHS.under("figures/{figure}.png"),
        numbers=PATHS.under("figures/{figure}.csv"),
    log:
        PATHS.log("draw_figure/{figure}"),
    benchmark:
        PATHS.benchmark("draw_figure/{figure}")
    resources:
        **requested("draw_figure"),
    params:
        folder=subpath(output.drawn, parent=True),
        root=PATHS.root,
        spec=table_specs.table_spec(CAMPAIGN),
        code=FINGERPRINTS["draw_figures"],
    shell:
        "python -m captionlab draw_figures --spec {params.spec:q} --code {params.code}"
        " --root {params.root} --output {params.folder} --figure {wildcards.figure}"
        " > {log} 2>&1"


rule render_html:
    input:
        results,
        figures=[PATHS.under(f"figures/{name}.svg") for name in FIGURES],
    output:
        report(
            PATHS.under("tables/final.html"),
            caption="../report/page.rst",
            category="Tables",
            labels={"table": "final", "format": "HTML"},
        ),
    log:
        PATHS.log("render_html"),
    benchmark:
        PATHS.benchmark("render_html")
    resources:
        **requested("render_html"),
    params:
        root=PATHS.root,
        figures=PATHS.under("figures"),
        spec=table_specs.table_spec(CAMPAIGN),
        code=FINGERPRINTS["render_html"],
    shell:
        "python -m captionlab render_html --spec {params.spec:q} --code {params.code}"
        " --root {params.root} --figures {params.figures} --output {output} > {log} 2>&1"


# Reads what chunks say of their lengths where they are made, and asks for none: a plan comes first.
rule plan_campaign:
    output:
        PATHS.under("tables/plan.md"),
    log:
        PATHS.log("plan_campaign"),
    benchmark:
        PATHS.benchmark("plan_campaign")
    resources:
        **requested("plan_campaign"),
    params:
        root=PATHS.root,
        spec=table_specs.plan_spec(CAMPAIGN),
        code=FINGERPRINTS["plan_campaign"],
    shell:
        "python -m captionlab plan_campaign --spec {params.spec:q} --code {params.code}"
        " --root {params.root} --output {output} > {log} 2>&1"
