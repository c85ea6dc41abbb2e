# Consensus targets: each teacher reads every chunk, one alignment is fitted, each caption gets its consensus vector.
# Big files are ancient(): their small JSON beside them, which holds their digest, decides what is rerun.
rule encode_teacher:
    input:
        facts=PATHS.chunk("captions.json"),
        captions=ancient(PATHS.chunk("captions.parquet")),
    output:
        vectors=PATHS.teacher("npy"),
        facts=PATHS.teacher("json"),
    log:
        PATHS.log("encode_teacher/{teacher}/{chunk}"),
    benchmark:
        PATHS.benchmark("encode_teacher/{teacher}/{chunk}")
    resources:
        **requested("encode_teacher"),
    params:
        chunk=subpath(input.facts, parent=True),
        state=PATHS.under("state/teachers/{teacher}/{chunk}"),
        spec=lambda wildcards: specs.teacher_spec(
            CAMPAIGN, wildcards.teacher, wildcards.chunk
        ),
        code=FINGERPRINTS["encode_teacher"],
        environment=ENVIRONMENT,
    shell:
        "python -m captionlab encode_teacher --spec {params.spec:q} --code {params.code}"
        " --chunk {params.chunk} --output-npy {output.vectors} --output-json {output.facts}"
        " --state {params.state} > {log} 2>&1"


rule fit_alignment:
    input:
        facts=expand(
            PATHS.teacher("json"),
            teacher=CAMPAIGN.teachers,
            chunk=CAMPAIGN.config["targets"].get("fit", {}).get("chunks", []),
        ),
        vectors=ancient(
            expand(
                PATHS.teacher("npy"),
                teacher=CAMPAIGN.teachers,
                chunk=CAMPAIGN.config["targets"].get("fit", {}).get("chunks", []),
            )
        ),
    output:
        alignment=PATHS.under("teachers/alignment.safetensors"),
        facts=PATHS.under("teachers/alignment.json"),
    log:
        PATHS.log("fit_alignment"),
    benchmark:
        PATHS.benchmark("fit_alignment")
    resources:
        **requested("fit_alignment"),
    params:
        embeddings=PATHS.under("teachers"),
        spec=lambda wildcards: specs.alignment_spec(CAMPAIGN),
        code=FINGERPRINTS["fit_alignment"],
        environment=ENVIRONMENT,
    shell:
        "python -m captionlab fit_alignment --spec {params.spec:q} --code {params.code}"
        " --embeddings {params.embeddings} --output {output.alignment}"
        " --output-json {output.facts} > {log} 2>&1"


rule build_targets:
    input:
        facts=PATHS.chunk("captions.json"),
        teachers=expand(
            PATHS.teacher("json", chunk="{{chunk}}"), teacher=CAMPAIGN.teachers
        ),
        alignment=rules.fit_alignment.output.facts,
        vectors=ancient(
            expand(PATHS.teacher("npy", chunk="{{chunk}}"), teacher=CAMPAIGN.teachers)
        ),
        matrices=ancient(rules.fit_alignment.output.alignment),
    output:
        targets=PATHS.chunk("targets.npy"),
        manifest=PATHS.chunk("manifest.json"),
    log:
        PATHS.log("build_targets/{chunk}"),
    benchmark:
        PATHS.benchmark("build_targets/{chunk}")
    resources:
        **requested("build_targets"),
    params:
        chunk=subpath(input.facts, parent=True),
        embeddings=PATHS.under("teachers"),
        spec=lambda wildcards: specs.targets_spec(CAMPAIGN, wildcards.chunk),
        code=FINGERPRINTS["build_targets"],
        environment=ENVIRONMENT,
    shell:
        "python -m captionlab build_targets --spec {params.spec:q} --code {params.code}"
        " --chunk {params.chunk} --embeddings {params.embeddings}"
        " --alignment {input.matrices} > {log} 2>&1"
