// Where an etcd is and which part of it belongs to the store: etcd://HOST:PORT,HOST:PORT/NAME. Pure.

export interface EtcdAddress {
  /** HOST:PORT each. */
  readonly endpoints: readonly string[];
  /** Keys of the store start with /NAME/, so that several clusters can share an etcd. */
  readonly name: string;
}

const scheme = 'etcd://';
const defaultPort = 2379;
const defaultName = 'gantry';
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const hostPattern = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?$/;

export const isEtcdAddress = (text: string): boolean => text.startsWith(scheme);

/** Throws an Error that says which part is wrong. */
export function parseEtcdAddress(text: string): EtcdAddress {
  const wrong = (why: string): Error => new Error(`${text} is not etcd://HOST:PORT[,HOST:PORT...][/NAME]: ${why}`);
  if (!isEtcdAddress(text)) throw wrong(`it does not start with ${scheme}`);
  const [hosts = '', name = defaultName, ...more] = text.slice(scheme.length).replace(/\/$/, '').split('/');
  if (hosts.includes('@')) throw wrong('user and password belong into the file of --store-login');
  if (more.length > 0 || !namePattern.test(name))
    throw wrong(`the name must be 1 to 63 letters, digits, ".", "_" or "-", without "/"`);
  const endpoints = hosts.split(',').map((host) => {
    const [, address, port] = hostPattern.exec(host) ?? [];
    if (address === undefined) throw wrong(`${JSON.stringify(host)} is not HOST:PORT`);
    if (port !== undefined && !(Number(port) > 0 && Number(port) < 65_536)) throw wrong(`there is no port ${port}`);
    return `${address}:${port ?? defaultPort}`;
  });
  if (new Set(endpoints).size < endpoints.length) throw wrong('a member is named twice');
  return { endpoints, name };
}
