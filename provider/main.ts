#!/usr/bin/env node
// The entry of terraform-provider-gantry. The plugin itself comes with its own release; until then it says so and fails.

process.stderr.write(
  'terraform-provider-gantry is not yet part of this release: it cannot serve the Terraform plugin protocol.\n' +
    'Use the gantry command line, which applies the same objects from YAML manifests.\n',
);
process.exitCode = 1;
