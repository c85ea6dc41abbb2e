# Captions and suites as files of the campaign, pinned by manifests.
rule prepare_tokenizer:
    output:
        vocabulary=PATHS.tokenizer("vocab.txt"),
        tokenizer=PATHS.tokenizer("tokenizer.json"),
        manifest=PATHS.tokenizer("manifest.json"),
    log:
        PATHS.log("prepare_tokenizer"),
    benchmark:
        PATHS.benchmark("prepare_tokenizer")
    resources:
        **requested("prepare_tokenizer"),
    params:
        folder=subpath(output.manifest, parent=True),
        spec=specs.tokenizer_spec(CAMPAIGN),
        code=FINGERPRINTS["prepare_tokenizer"],
    shell:
        "python -m captionlab prepare_tokenizer --spec {params.spec:q} --code {params.code}"
        " --output {params.folder} > {log} 2>&1"


rule tokenize_chunk:
    input:
        tokenizer=rules.prepare_tokenizer.output.manifest,
    output:
        captions=PATHS.chunk("captions.parquet"),
        tokens=PATHS.chunk("tokens.npy"),
        offsets=PATHS.chunk("offsets.npy"),
        manifest=PATHS.chunk("captions.json"),
    log:
        PATHS.log("tokenize_chunk/{chunk}"),
    benchmark:
        PATHS.benchmark("tokenize_chunk/{chunk}")
    resources:
        **requested("tokenize_chunk"),
    params:
        folder=subpath(output.manifest, parent=True),
        tokenizer=subpath(input.tokenizer, parent=True),
        spec=lambda wildcards: specs.chunk_spec(CAMPAIGN, wildcards.chunk),
        code=FINGERPRINTS["tokenize_chunk"],
    shell:
        "python -m captionlab tokenize_chunk --spec {params.spec:q} --code {params.code}"
        " --tokenizer {params.tokenizer} --output {params.folder} > {log} 2>&1"


rule prepare_suite:
    output:
        pairs=PATHS.suite("tsv"),
        facts=PATHS.suite("json"),
    log:
        PATHS.log("prepare_suite/{suite}"),
    benchmark:
        PATHS.benchmark("prepare_suite/{suite}")
    resources:
        **requested("prepare_suite"),
    params:
        spec=lambda wildcards: specs.suite_spec(CAMPAIGN, wildcards.suite),
        code=FINGERPRINTS["prepare_suite"],
    shell:
        "python -m captionlab prepare_suite --spec {params.spec:q} --code {params.code}"
        " --output-tsv {output.pairs} --output-json {output.facts} > {log} 2>&1"
