// The valid names of each kind (spec part 8, LXD's rules where the spec leaves them open). Pure.

/** undefined = valid, else the broken rule. */
export type NameRule = (name: string) => string | undefined;

// Spec 2.5: at most 64 characters, ASCII, no slash, colon or comma. Names become file names, host names and argv words, so
// white space, control characters, a leading dash and the two dot names are refused as well; so is %, which some clients decode twice.
export const containerName: NameRule = (name) => {
  if (name.length === 0) return 'must not be empty';
  if (name.length > 64) return `must have at most 64 characters, has ${name.length}`;
  const bad = /[^!-~]|[/:,%]/.exec(name)?.[0];
  if (bad !== undefined) {
    return `must not contain ${JSON.stringify(bad)} (printable ASCII without space, slash, colon, comma and %)`;
  }
  if (name === '.' || name === '..') return 'must not be . or ..';
  if (name.startsWith('-')) return 'must not start with a dash';
  return undefined;
};

const plain: NameRule = (name) => {
  if (name.length === 0) return 'must not be empty';
  if (name.length > 64) return `must have at most 64 characters, has ${name.length}`;
  const bad = /[^!-~]|[/%]/.exec(name)?.[0];
  if (bad !== undefined) return `must not contain ${JSON.stringify(bad)} (printable ASCII without space, slash and %)`;
  if (name === '.' || name === '..') return 'must not be . or ..';
  return undefined;
};

export const profileName = plain;
/** LXD's rule; a project's name also appears in lists, in queries and as a prefix of names on the host. */
export const projectName: NameRule = (name) => {
  const bad = /[*_'":,\\]/.exec(name)?.[0];
  return bad === undefined ? profileName(name) : `must not contain ${bad}`;
};
export const snapshotName = plain;
export const deviceName = plain;

export const poolName: NameRule = (name) =>
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(name)
    ? undefined
    : 'must be 1 to 63 of letters, digits, . _ - and start with a letter or digit';
export const volumeName: NameRule = poolName;

/** There is one server config, with a fixed name. */
export const serverConfigName: NameRule = (name) => (name === 'server' ? undefined : 'must be server, or be left out');

/** `POOL/VOLUME`: the name of a volume where its pool is not given separately. */
export const volumePathName: NameRule = (name) => {
  const [pool = '', volume = '', ...rest] = name.split('/');
  if (rest.length > 0 || !name.includes('/')) return 'must be POOL/VOLUME';
  const broken = poolName(pool);
  return broken === undefined ? volumeName(volume) : `names the pool ${JSON.stringify(pool)}, which ${broken}`;
};

/** A network is a host interface: the kernel's limit of 15 characters applies. */
export const networkName: NameRule = (name) => {
  if (!/^[-_a-zA-Z0-9.]{2,15}$/.test(name)) return 'must be 2 to 15 of letters, digits, - _ .';
  if (name === '..' || name.startsWith('-')) return 'must not start with a dash or be ..';
  if (name.startsWith('veth')) return 'must not start with veth (reserved for container interfaces)';
  return undefined;
};

/** LXD's rule: OVN uses it as a prefix of names. */
export const networkAclName: NameRule = (name) =>
  /^[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/.test(name)
    ? undefined
    : 'must be 1 to 63 of letters, digits and dashes, start with a letter and end with a letter or digit';

/** Alias names may contain slashes (`debian/12`). */
export const aliasName: NameRule = (name) => {
  if (name.length === 0) return 'must not be empty';
  if (name.length > 255) return `must have at most 255 characters, has ${name.length}`;
  if (/[^!-~]|%/.test(name)) return 'must be printable ASCII without spaces and %';
  // Clients and servers take such parts out of a URL.
  const isOdd = name.split('/').some((part) => part === '' || part === '.' || part === '..');
  return isOdd ? 'must have something other than . and .. before and after each slash' : undefined;
};

/** For clients; the daemon, which qualifies names by project, uses project-names.ts. */
export const containerPath = (name: string, ...parts: readonly string[]): string =>
  ['/1.0/containers', ...[name, ...parts].map(encodeURIComponent)].join('/');
