// The paths of a provider in mirrors of Terraform and OpenTofu, and the CLI configuration that uses a mirror. Pure.

const registries = ['registry.terraform.io', 'registry.opentofu.org'] as const;
const source = 'gantry/gantry';

/** The files are the same on every platform: sh and Node run them. */
export const platforms = ['darwin_amd64', 'darwin_arm64', 'linux_amd64', 'linux_arm64'] as const;

/** The folders of one version below the directory of a mirror, one for each registry. */
export const mirrorFolders = (version: string, platform: string): readonly string[] =>
  registries.map((registry) => `${registry}/${source}/${version}/${platform}`);

/** Terraform requires the version in the name of the launcher. */
export const launcherName = (version: string): string => `terraform-provider-gantry_v${version}`;
export const launcherVersion = (name: string): string | undefined =>
  /^terraform-provider-gantry_v(\d+\.\d+\.\d+\S*)$/.exec(name)?.[1];

/** Terraform's name for Node's `linux` and `x64`; undefined where the provider does not run. */
export function platformOf(os: string, arch: string): (typeof platforms)[number] | undefined {
  const name = `${os}_${arch === 'x64' ? 'amd64' : arch}`;
  return platforms.find((known) => known === name);
}

/**
 * The block of the CLI configuration for a mirror. Without `direct` Terraform could install no other provider. Without `exclude` it
 * would search a registry for a version that the mirror lacks.
 */
export const installationBlock = (directory: string): string => `provider_installation {
  filesystem_mirror {
    path    = ${JSON.stringify(directory)}
    include = ["gantry/*"]
  }
  direct {
    exclude = ["gantry/*"]
  }
}
`;
