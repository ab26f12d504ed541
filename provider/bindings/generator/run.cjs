// Runs the generator of one flavour, in a process of its own: it reads the environment and starts programs as soon as it is loaded.
// Standard input: { flavour, schema, target, directory }. Files appear below the directory; nothing is adjusted here.
'use strict';
const { readFileSync } = require('node:fs');
const { createRequire } = require('node:module');

const { flavour, schema, target, directory } = JSON.parse(readFileSync(0, 'utf8'));
// The main entry of CDKTF's generator needs packages that it does not declare, so the one class is taken from inside.
const folder = { cdktf: 'lib', cdktn: 'build' }[flavour];
const entry = `@${flavour}/provider-generator/${folder}/get/generator/provider-generator`;
const { TerraformProviderGenerator } = require(entry);
const { TerraformProviderConstraint } = require(`@${flavour}/commons`);
// Each of the two wants its own version of it.
const { CodeMaker } = createRequire(require.resolve(entry))('codemaker');

const code = new CodeMaker();
const constraint = new TerraformProviderConstraint(`${target.source}@${target.version}`);
const generator = new TerraformProviderGenerator(code, schema);
generator.generate({ ...target, isModule: false, isProvider: true, constraint });
code.save(directory).catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
