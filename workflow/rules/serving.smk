# Exports, their parity with the training state, and model cards; made only when asked for by name.
from captionlab import serving_specs

SERVED = serving_specs.served_runs(CAMPAIGN)
LOADERS = serving_specs.loaders(CAMPAIGN)
PARITY = PATHS.under("serving/{recipe}/{option}/seed-{seed}/{loader}.json")


rule export_run:
    input:
        run=PATHS.run("run.json"),
        tokenizer=PATHS.tokenizer("manifest.json"),
        weights=ancient(PATHS.run("final.safetensors")),
    output:
        [PATHS.export(name) for name in serving_specs.EXPORTED],
    log:
        PATHS.log("export_run/{recipe}/{option}/seed-{seed}"),
    benchmark:
        PATHS.benchmark("export_run/{recipe}/{option}/seed-{seed}")
    resources:
        **requested("export_run"),
    params:
        run=PATHS.run(""),
        tokenizer=PATHS.tokenizer(""),
        folder=PATHS.export(""),
        code=FINGERPRINTS["export_run"],
    shell:
        "python -m captionlab export_run --code {params.code} --run {params.run}"
        " --tokenizer {params.tokenizer} --output {params.folder} > {log} 2>&1"


rule check_parity:
    input:
        run=PATHS.run("run.json"),
        tokenizer=PATHS.tokenizer("manifest.json"),
        export=PATHS.export("export.json"),
        weights=ancient(PATHS.export("model.safetensors")),
    output:
        PARITY,
    log:
        PATHS.log("check_parity/{recipe}/{option}/seed-{seed}/{loader}"),
    benchmark:
        PATHS.benchmark("check_parity/{recipe}/{option}/seed-{seed}/{loader}")
    wildcard_constraints:
        loader="|".join(LOADERS),
    threads: CAMPAIGN.config["compute"]["threads"]
    resources:
        **requested("check_parity", gpu=True),
    params:
        # Kept beside the run without being declared: not every run keeps one.
        state=PATHS.run("training-state.safetensors"),
        tokenizer=PATHS.tokenizer(""),
        export=PATHS.export(""),
        python=lambda wildcards: LOADERS[wildcards.loader] or sys.executable,
        spec=lambda wildcards: serving_specs.parity_spec(CAMPAIGN, wildcards.loader),
        code=FINGERPRINTS["check_parity"],
    shell:
        "python -m captionlab check_parity --spec {params.spec:q} --code {params.code}"
        " --state {params.state} --run-json {input.run} --tokenizer {params.tokenizer}"
        " --export {params.export} --python {params.python:q} --output {output} > {log} 2>&1"


rule render_serving:
    input:
        reports=[
            PARITY.format(
                recipe=run.recipe,
                option=run.option,
                seed=run.seed_name,
                loader=loader,
            )
            for run in SERVED
            for loader in LOADERS
        ],
        selection=PATHS.under("selection/larger.json"),
    output:
        table=PATHS.under("tables/serving.md"),
        numbers=PATHS.under("tables/serving.csv"),
        latex=PATHS.under("tables/serving.tex"),
    log:
        PATHS.log("render_serving"),
    benchmark:
        PATHS.benchmark("render_serving")
    resources:
        **requested("render_serving"),
    params:
        root=PATHS.root,
        spec=serving_specs.serving_table_spec(CAMPAIGN),
        code=FINGERPRINTS["render_serving"],
    shell:
        "python -m captionlab render_serving --spec {params.spec:q} --code {params.code}"
        " --root {params.root} --output {output.table} > {log} 2>&1"


rule write_card:
    input:
        export=PATHS.export("export.json"),
        run=PATHS.run("run.json"),
        development=PATHS.run("development.json"),
        evaluation=PATHS.evaluation("suites.json"),
        parity=expand(PARITY, loader=LOADERS, allow_missing=True),
        compared=[
            path
            for run in CAMPAIGN.stage_runs("larger")
            for path in (
                PATHS.run("development.json", run),
                PATHS.evaluation("suites.json", run),
                PATHS.evaluation("geometry.json", run),
            )
        ],
        references=[
            PATHS.reference("suites.json", row.name) for row in CAMPAIGN.references
        ],
        suites=[PATHS.suite("json", suite) for suite in CAMPAIGN.test_suites],
        selection=PATHS.under("selection/larger.json"),
    output:
        [PATHS.export(name) for name in serving_specs.CARD],
    log:
        PATHS.log("write_card/{recipe}/{option}/seed-{seed}"),
    benchmark:
        PATHS.benchmark("write_card/{recipe}/{option}/seed-{seed}")
    resources:
        **requested("write_card"),
    params:
        root=PATHS.root,
        folder=PATHS.export(""),
        spec=lambda wildcards: serving_specs.card_spec(
            CAMPAIGN,
            run_of(wildcards),
            [os.path.relpath(path) for path in workflow.overwrite_configfiles],
        ),
        code=FINGERPRINTS["write_card"],
    shell:
        "python -m captionlab write_card --spec {params.spec:q} --code {params.code}"
        " --root {params.root} --output {params.folder} > {log} 2>&1"


# Sends files to the hub: no other rule asks for it.
rule publish_export:
    input:
        selection=PATHS.under("selection/larger.json"),
        tokenizer=PATHS.tokenizer("manifest.json"),
        runs=[PATHS.run("run.json", run) for run in SERVED],
        exports=[PATHS.export("export.json", run) for run in SERVED],
        cards=[PATHS.export(name, run) for run in SERVED for name in serving_specs.CARD],
    output:
        PATHS.under("serving/published.json"),
    log:
        PATHS.log("publish_export"),
    benchmark:
        PATHS.benchmark("publish_export")
    resources:
        **requested("publish_export"),
    params:
        root=PATHS.root,
        spec=serving_specs.publishing_spec(CAMPAIGN),
        code=FINGERPRINTS["publish_export"],
    shell:
        "python -m captionlab publish_export --spec {params.spec:q} --code {params.code}"
        " --root {params.root} --selection {input.selection} --output {output} > {log} 2>&1"
