// The two Debian packages as files, pure: gantry has all programs with their Node.js, gantryd makes a host run the daemon.
import type { Entry, Tree } from './tree.ts';

export interface Inputs {
  readonly version: string;
  readonly maintainer: string;
  /** Seconds since 1970 of the release. */
  readonly epoch: number;
  /** `dist` and what lies beside it, as they go below usr/lib/gantry. */
  readonly product: readonly (readonly [string, Entry])[];
  /** The text of the first line of a program that is to run with the package's own Node.js. */
  readonly programs: Readonly<Record<string, string>>;
  /** Pages and examples below usr/share/doc/gantry. */
  readonly pages: readonly (readonly [string, Entry])[];
  /** Compressed pages of man, by path below usr/share/man, for each package. */
  readonly manuals: Readonly<Record<'gantry' | 'gantryd', ReadonlyMap<string, Buffer>>>;
  /** By shell. */
  readonly completions: Readonly<Record<'bash' | 'zsh' | 'fish', string>>;
  readonly node: string;
  readonly notices: string;
  readonly gzip: (text: string) => Buffer;
  /** Text of a file of `packaging`. */
  readonly packaging: (path: string) => string;
}

export interface DebianPackage {
  readonly name: 'gantry' | 'gantryd';
  readonly tree: Tree;
}

const home = 'usr/lib/gantry';
/** A name of its own: `node` is what the Node.js of the host is called. */
const runtime = 'gantry-node';
const text = (content: string | Buffer, mode = 0o644): Entry => ({ text: content, mode });

/** A version of npm in the order of dpkg: `1.0.0-rc.1` comes before `1.0.0`. */
export const debianVersion = (version: string): string => version.replace('-', '~');

export function debianPackages(inputs: Inputs): readonly DebianPackage[] {
  return [
    { name: 'gantry', tree: new Map([...programFiles(inputs), ...commonFiles('gantry', inputs)]) },
    { name: 'gantryd', tree: new Map([...hostFiles(inputs), ...commonFiles('gantryd', inputs)]) },
  ];
}

/** Scripts that `gantry init` runs: machines may leave out what is below usr/share/doc. */
const isOfInit = (path: string): boolean => /^examples\/quickstart\/build-\w+\.sh$/.test(path);

function programFiles(inputs: Inputs): readonly (readonly [string, Entry])[] {
  const { completions, packaging } = inputs;
  const { bash, zsh, fish } = completions;
  return [
    ...[...inputs.product, ...inputs.pages.filter(([path]) => isOfInit(path))].map(
      ([path, entry]) => [`${home}/${path}`, entry] as const,
    ),
    ...Object.entries(inputs.programs).map(
      ([name, content]) =>
        [`${home}/dist/bin/${name}.js`, text(content.replace(/^#!.*\n/, `#!/${home}/${runtime}\n`), 0o755)] as const,
    ),
    [`${home}/${runtime}`, { from: inputs.node, mode: 0o755 }],
    ['usr/share/lintian/overrides/gantry', text(packaging('debian/gantry.lintian-overrides'))],
    ['usr/bin/gantry', { link: '../lib/gantry/dist/bin/gantry.js' }],
    ['usr/bin/terraform-provider-gantry', { link: '../lib/gantry/dist/bin/terraform-provider-gantry.js' }],
    ['usr/share/bash-completion/completions/gantry', text(bash)],
    ['usr/share/zsh/vendor-completions/_gantry', text(zsh)],
    ['usr/share/fish/vendor_completions.d/gantry.fish', text(fish)],
    ['usr/share/doc/gantry/NOTICES.gz', text(inputs.gzip(inputs.notices))],
    ...inputs.pages.map(([path, entry]) => [`usr/share/doc/gantry/${path}`, entry] as const),
  ];
}

function hostFiles({ packaging }: Inputs): readonly (readonly [string, Entry])[] {
  const unit = (name: string) => [`usr/lib/systemd/system/${name}`, text(packaging(`systemd/${name}`))] as const;
  const script = (name: string) => [`DEBIAN/${name}`, text(packaging(`debian/gantryd.${name}`), 0o755)] as const;
  return [
    ['usr/sbin/gantryd', { link: '../lib/gantry/dist/bin/gantryd.js' }],
    unit('gantryd.service'),
    unit('gantry-containers.service'),
    ['usr/lib/sysusers.d/gantry.conf', text(packaging('sysusers.d/gantry.conf'))],
    ['usr/lib/sysctl.d/60-gantryd.conf', text(packaging('sysctl.d/60-gantryd.conf'))],
    ['var/lib/gantry-package', { folder: true }],
    script('postinst'),
    script('prerm'),
    script('postrm'),
  ];
}

const descriptions = {
  gantry: [
    'infrastructure as code for Linux system containers',
    'The command line that makes hosts run the containers, networks, volumes and',
    'images that files declare, its controller for git repositories, and a provider',
    'for Terraform. It brings its own Node.js.',
  ],
  gantryd: [
    'daemon of Linux system containers with the REST API of LXD',
    'Runs system containers with LXC, and serves the REST API that gantry,',
    'Terraform and clients of LXD use. Containers go on when it is restarted or',
    'upgraded.',
  ],
} as const;

const relations = {
  gantry: ['Depends: libc6 (>= 2.28), libgcc-s1, libstdc++6', 'Recommends: bash-completion, gantryd'],
  gantryd: [
    'Depends: gantry (= VERSION), dnsmasq-base, iproute2, lxc (>= 1:5.0), nftables, passwd, procps, squashfs-tools, uidmap, xz-utils, zstd',
    'Recommends: apparmor, btrfs-progs, e2fsprogs, lxcfs, rsync',
    'Suggests: criu, etcd-server',
  ],
} as const;

function commonFiles(name: 'gantry' | 'gantryd', inputs: Inputs): readonly (readonly [string, Entry])[] {
  const doc = `usr/share/doc/${name}`;
  return [
    ['DEBIAN/control', text(control(name, inputs))],
    [`${doc}/copyright`, text(copyright(name, inputs.epoch))],
    [`${doc}/changelog.gz`, text(inputs.gzip(changelog(name, inputs)))],
    ...[...inputs.manuals[name]].map(([path, content]) => [`usr/share/man/${path}`, text(content)] as const),
  ];
}

function control(name: 'gantry' | 'gantryd', { version, maintainer }: Inputs): string {
  const [summary, ...more] = descriptions[name];
  const own = debianVersion(version);
  const lines = [
    `Package: ${name}`,
    `Version: ${own}`,
    'Architecture: amd64',
    `Maintainer: ${maintainer}`,
    'Section: admin',
    'Priority: optional',
    ...relations[name].map((line) => line.replace('VERSION', own)),
    `Description: ${summary}`,
    ...more.map((line) => ` ${line}`),
  ];
  return `${lines.join('\n')}\n`;
}

const copyright = (
  name: string,
  epoch: number,
): string => `Copyright (C) ${new Date(epoch * 1000).getUTCFullYear()} the authors of Gantry

${name} is licensed under the Apache License, Version 2.0: /usr/share/common-licenses/Apache-2.0
What is inside the packages besides, and its terms: /usr/share/doc/gantry/NOTICES.gz
`;

const changelog = (name: string, { version, maintainer, epoch }: Inputs): string =>
  `${name} (${debianVersion(version)}) stable; urgency=medium

  * What has changed: /usr/share/doc/gantry/CHANGELOG.md

 -- ${maintainer}  ${new Date(epoch * 1000).toUTCString().replace('GMT', '+0000')}
`;
