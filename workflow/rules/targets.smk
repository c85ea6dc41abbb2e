# Targets: the teachers' consensus, or published vectors; both end in build_targets.
if CAMPAIGN.config["targets"]["kind"] == "consensus":

    include: "consensus.smk"

else:

    include: "published.smk"
