// `terraform-provider-gantry install`: copies the provider from the npm package into a directory where Terraform and OpenTofu look.
import { cpSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { installationBlock, launcherVersion, mirrorFolders, platformOf } from './mirror.ts';
import { makeFolderSync } from '../../server/lib/shared/make-folder.ts';
import { reasonOf } from '../../server/lib/shared/reason.ts';

export interface InstallDeps {
  /** The arguments after `install`. */
  readonly args: readonly string[];
  /** Directories that may hold the package; the first match wins. */
  readonly packages: readonly string[];
  readonly home: string;
  readonly os: string;
  readonly arch: string;
}

export interface Installed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const usage = `Usage: terraform-provider-gantry install [--plugin-dir DIR]

Copies the provider to where Terraform and OpenTofu find it without a registry.
  --plugin-dir DIR  a directory for providers; ~/.terraform.d/plugins when left out, where they look by themselves
`;

/** Changes only the directory of this version and platform. */
export function install(deps: InstallDeps): Installed {
  const read = readArgs(deps.args);
  if (read === 'help') return { code: 0, stdout: usage, stderr: '' };
  if ('problem' in read) return { code: 2, stdout: '', stderr: `${read.problem}\n\n${usage}` };
  try {
    const from = packageIn(deps.packages);
    const platform = platformOf(deps.os, deps.arch);
    if (platform === undefined) {
      throw new Error(`the provider does not run on ${deps.os} ${deps.arch}: it needs Linux or macOS, amd64 or arm64`);
    }
    const ownPlace = join(deps.home, '.terraform.d/plugins');
    const directory = read.directory === undefined ? ownPlace : resolve(read.directory);
    for (const folder of mirrorFolders(from.version, platform)) copy(from.directory, directory, folder);
    return { code: 0, stdout: instructions(from.version, directory, directory === ownPlace), stderr: '' };
  } catch (error) {
    const why = reasonOf(error);
    return { code: 1, stdout: '', stderr: `The provider was not installed: ${why}\n` };
  }
}

function readArgs(args: readonly string[]): 'help' | { readonly directory?: string } | { readonly problem: string } {
  try {
    const options = { 'plugin-dir': { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const;
    const { values } = parseArgs({ args: [...args], options });
    if (values.help === true) return 'help';
    const directory = values['plugin-dir'];
    if (directory === '') return { problem: '--plugin-dir needs the path of a directory' };
    return directory === undefined ? {} : { directory };
  } catch (error) {
    return { problem: reasonOf(error) };
  }
}

function packageIn(directories: readonly string[]): { readonly directory: string; readonly version: string } {
  for (const directory of directories) {
    const version = namesIn(directory)
      .map(launcherVersion)
      .find((found) => found !== undefined);
    if (version !== undefined) return { directory, version };
  }
  throw new Error(
    `none of ${directories.join(', ')} holds the provider. Install gantry again with npm, or run npm run build in a checkout`,
  );
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Replaces the directory in one step, because Terraform must never find half a package. */
function copy(from: string, mirror: string, folder: string): void {
  const to = join(mirror, folder);
  const made = join(mirror, `.gantry-${process.pid}`);
  makeFolderSync(dirname(to));
  try {
    cpSync(from, made, { recursive: true });
    rmSync(to, { recursive: true, force: true });
    renameSync(made, to);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

function instructions(version: string, directory: string, isOwnPlace: boolean): string {
  const head = `terraform-provider-gantry ${version} is in ${directory}\n`;
  const block = installationBlock(directory);
  const where = isOwnPlace
    ? 'terraform init and tofu init find it there. If your CLI configuration (~/.terraformrc, ~/.tofurc) has its own\nprovider_installation block, add this to it:'
    : 'Terraform and OpenTofu find it there when the CLI configuration (~/.terraformrc, ~/.tofurc) says:';
  return `${head}\n${where}\n\n${block}\nIn configurations: required_providers { gantry = { source = "gantry/gantry", version = "${version}" } }\n`;
}
