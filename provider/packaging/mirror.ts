// The paths of a provider in mirrors of Terraform and OpenTofu, and the configuration that makes them look there. Pure.

const registries = ['registry.terraform.io', 'registry.opentofu.org'] as const;
const source = 'gantry/gantry';

/** Of every platform the files are the same: sh and Node run them. */
export const platforms = ['darwin_amd64', 'darwin_arm64', 'linux_amd64', 'linux_arm64'] as const;

/** The folders of one version below the directory of a mirror, one a registry. */
export const mirrorFolders = (version: string, platform: string): readonly string[] =>
  registries.map((registry) => `${registry}/${source}/${version}/${platform}`);

/** The name of the launcher says the version, as Terraform wants it. */
export const launcherName = (version: string): string => `terraform-provider-gantry_v${version}`;
export const launcherVersion = (name: string): string | undefined =>
  /^terraform-provider-gantry_v(\d+\.\d+\.\d+\S*)$/.exec(name)?.[1];

/** As Terraform names what Node calls `linux` and `x64`; undefined where the provider does not run. */
export function platformOf(os: string, arch: string): (typeof platforms)[number] | undefined {
  const name = `${os}_${arch === 'x64' ? 'amd64' : arch}`;
  return platforms.find((known) => known === name);
}

/**
 * The block of the CLI configuration for a mirror. Without `direct` every other provider could not be installed any more, and
 * without `exclude` a version that the mirror lacks would be looked for in a registry.
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
