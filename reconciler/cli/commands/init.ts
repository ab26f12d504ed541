// `gantry init [dir]`: a first manifest that works, and the schema beside it for editors; never writes over anything.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CliContext } from '../context.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { CliError } from '../usage-error.ts';

export const schemaFile = 'gantry.schema.json';

const stack = `# yaml-language-server: $schema=${schemaFile}
# What is written here is compared and changed; all else on the host is left alone. The order does not matter.
# gantry plan shows what would happen, gantry apply does it, gantry explain container.config tells what may be written.
kind: storage_pool
name: main
driver: dir
---
kind: network
name: gantry0
type: bridge
config:
  ipv4.address: auto # a free subnet is picked
  ipv6.address: none
---
kind: profile
name: base
description: What containers here share
config:
  limits.memory: 512MiB
devices:
  root: { type: disk, path: /, pool: main }
  eth0: { type: nic, nictype: bridged, parent: gantry0, name: eth0 }
---
# An empty container, to begin with. With an image on the server (gantry image list):
#   source: { type: image, alias: debian/12 }
#   state: running
kind: container
name: first
source: { type: none }
profiles: [base]
state: stopped
`;

export async function init(context: CliContext, directory = '.'): Promise<ExitCode> {
  const { manifestSchema } = await import('../../../server/api/manifest-schema.ts');
  await mkdir(directory, { recursive: true });
  const files: readonly (readonly [string, string])[] = [
    [schemaFile, `${JSON.stringify(manifestSchema(), null, 2)}\n`],
    ['stack.yaml', stack],
  ];
  const made: string[] = [];
  for (const [name, text] of files) {
    const path = join(directory, name);
    await writeFile(path, text, { flag: 'wx' }).then(
      () => made.push(path),
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST')
          throw new CliError(`cannot write ${path}: ${error.message}`, exitCodes.error, error);
        context.note(`${path} is there already: left as it is`);
      },
    );
  }
  if (context.isJson) context.io.stdout.write(`${JSON.stringify({ made })}\n`);
  for (const path of made) context.out(`Wrote ${path}`);
  if (made.length > 0) context.note(`Next: gantry plan ${directory}`);
  return exitCodes.ok;
}
