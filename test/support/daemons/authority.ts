// Certificate authorities made with openssl: they sign certificates of clients and servers, and revoke them.
import { execFileSync } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClientCertificate } from './tls.ts';

export interface SignOptions {
  readonly usage?: 'clientAuth' | 'serverAuth';
  /** First and last second of its life, as openssl writes them. Default: from yesterday for ten days. */
  readonly valid?: readonly [from: string, to: string];
  /** Names of a server. */
  readonly names?: string;
}

export interface Authority {
  readonly dir: string;
  readonly certPem: string;
  /** The certificate and its chain below the root. */
  sign(commonName: string, options?: SignOptions): ClientCertificate;
  revoke(certificate: ClientCertificate): void;
  /** PEM of its revocation list. */
  list(days?: number): string;
  /** One that this one signed. */
  intermediate(name: string): Authority;
  remove(): void;
}

const openssl = (args: readonly string[], dir: string): string =>
  execFileSync('openssl', [...args], { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] }).toString();

const config = `[ca]
default_ca = d
[d]
database = index.txt
serial = serial
new_certs_dir = .
certificate = ca.crt
private_key = ca.key
default_md = sha256
default_days = 10
default_crl_days = 10
policy = p
unique_subject = no
copy_extensions = copy
[p]
commonName = supplied
`;

export function makeAuthority(commonName: string): Authority {
  const dir = mkdtempSync(join(realpathSync(tmpdir()), 'gtca-'));
  prepare(dir);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'ca.key'];
  const extensions = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign,cRLSign'];
  openssl(
    ['req', '-x509', ...key, '-days', '30', '-subj', `/CN=${commonName}`, '-out', 'ca.crt', ...added(extensions)],
    dir,
  );
  return authorityIn(dir, '');
}

const added = (extensions: readonly string[]): string[] => extensions.flatMap((text) => ['-addext', text]);

function prepare(dir: string): void {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'openssl.cnf'), config);
  writeFileSync(join(dir, 'index.txt'), '');
  writeFileSync(join(dir, 'serial'), '1000\n');
}

/** `chain`: certificates between its own and the root. */
function authorityIn(dir: string, chain: string): Authority {
  let count = 0;
  const certPem = readFileSync(join(dir, 'ca.crt'), 'utf8');
  const issue = (name: string, subject: string, extensions: readonly string[], valid?: SignOptions['valid']): void => {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${name}.key`];
    openssl(['req', '-new', ...key, '-subj', `/CN=${subject}`, '-out', `${name}.csr`, ...added(extensions)], dir);
    const times = valid === undefined ? [] : ['-startdate', valid[0], '-enddate', valid[1]];
    openssl(
      ['ca', '-config', 'openssl.cnf', '-batch', '-notext', '-in', `${name}.csr`, '-out', `${name}.crt`, ...times],
      dir,
    );
  };
  return {
    dir,
    certPem,
    sign(commonName, { usage = 'clientAuth', valid, names } = {}) {
      const name = `c${count++}`;
      const extensions = [`extendedKeyUsage=${usage}`, ...(names === undefined ? [] : [`subjectAltName=${names}`])];
      issue(name, commonName, extensions, valid);
      const own = readFileSync(join(dir, `${name}.crt`), 'utf8');
      const fingerprint = createHash('sha256').update(new X509Certificate(own).raw).digest('hex');
      return { certPem: own + chain, keyPem: readFileSync(join(dir, `${name}.key`), 'utf8'), fingerprint };
    },
    revoke(certificate) {
      writeFileSync(join(dir, 'revoked.crt'), certificate.certPem);
      openssl(['ca', '-config', 'openssl.cnf', '-revoke', 'revoked.crt'], dir);
    },
    list(days = 10) {
      const next = days < 0 ? ['-crlsec', '1'] : ['-crldays', String(days)];
      openssl(['ca', '-config', 'openssl.cnf', '-gencrl', ...next, '-out', 'ca.crl'], dir);
      return readFileSync(join(dir, 'ca.crl'), 'utf8');
    },
    intermediate(name) {
      const below = join(dir, `i${count++}`);
      prepare(below);
      issue('inter', name, ['basicConstraints=critical,CA:TRUE,pathlen:0', 'keyUsage=critical,keyCertSign,cRLSign']);
      writeFileSync(join(below, 'ca.crt'), readFileSync(join(dir, 'inter.crt')));
      writeFileSync(join(below, 'ca.key'), readFileSync(join(dir, 'inter.key')));
      return authorityIn(below, readFileSync(join(dir, 'inter.crt'), 'utf8') + chain);
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}
