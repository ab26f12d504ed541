// Lists the files of a release of the provider: packages with checksums and manifest for registries, and a mirror tree for machines
// without a registry. Builds no bundle and reads no command line.
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Programs } from './bundle.ts';
import { launcherName, mirrorFolders, platforms } from './mirror.ts';
import { zip, type ZipEntry } from './zip.ts';

/** Plain sh: it reports a missing Node in a message that Terraform shows, and main.cjs runs in any project. */
const launcher = `#!/bin/sh
if ! command -v node >/dev/null 2>&1; then
  echo "terraform-provider-gantry needs Node.js 20.19 or newer as node on the PATH"
  exit 1
fi
case $0 in
*/*) exec node "\${0%/*}/main.cjs" "$@" ;;
*) exec node ./main.cjs "$@" ;;
esac
`;

export interface ReleaseInput {
  readonly version: string;
  readonly programs: Programs;
  readonly license: Buffer;
}

/** Paths below the release directory. */
export type ReleaseFiles = ReadonlyMap<string, { readonly content: Buffer; readonly mode: number }>;

export function packageEntries({ version, programs, license }: ReleaseInput): readonly ZipEntry[] {
  return [
    { name: 'LICENSE', content: license, mode: 0o644 },
    ...[...programs].map(([name, content]) => ({ name, content, mode: 0o644 })),
    { name: launcherName(version), content: Buffer.from(launcher), mode: 0o755 },
  ];
}

export function releaseFiles(input: ReleaseInput): ReleaseFiles {
  const { version } = input;
  const entries = packageEntries(input);
  const archive = zip(entries);
  const stem = `terraform-provider-gantry_${version}`;
  const manifest = Buffer.from(
    `${JSON.stringify({ version: 1, metadata: { protocol_versions: ['6.0'] } }, null, 2)}\n`,
  );
  const published = new Map<string, Buffer>([
    ...platforms.map((platform) => [`${stem}_${platform}.zip`, archive] as const),
    [`${stem}_manifest.json`, manifest],
  ]);
  const sums = [...published].map(([name, content]) => `${sha256(content)}  ${name}\n`).join('');
  const files = new Map<string, { content: Buffer; mode: number }>();
  for (const [name, content] of published) files.set(name, { content, mode: 0o644 });
  files.set(`${stem}_SHA256SUMS`, { content: Buffer.from(sums), mode: 0o644 });
  for (const folder of platforms.flatMap((platform) => mirrorFolders(version, platform))) {
    for (const { name, content, mode } of entries) files.set(`mirror/${folder}/${name}`, { content, mode });
  }
  return files;
}

/** The files that `terraform-provider-gantry install` copies. */
export const packageFiles = (input: ReleaseInput): ReleaseFiles =>
  new Map(packageEntries(input).map(({ name, content, mode }) => [name, { content, mode }]));

export function writeRelease(files: ReleaseFiles, directory: string): void {
  for (const [name, { content, mode }] of files) {
    const path = join(directory, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content, { mode });
  }
}

const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');
