// Reads values of KV secrets, version 1 and 2, as `MOUNT/PATH#FIELD` names them. Other engines make a new secret for each reading, and are refused.
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { asText, isMap, mapOf, textOf } from '../../core/documents/json-values.ts';
import { errorsIn, VaultError } from './vault-http.ts';
import { VaultSession, type VaultSettings } from './vault-session.ts';

export type ReadSecret = (reference: string, signal: AbortSignal | undefined) => Promise<string>;

interface Mount {
  /** `kv/`. */
  readonly path: string;
  readonly version: 1 | 2;
}

export class VaultSecrets {
  readonly #session: VaultSession;
  readonly #mounts = new Map<string, Promise<Mount>>();

  constructor(settings: VaultSettings, nowMs?: () => number) {
    this.#session = new VaultSession(settings, nowMs);
  }

  /** A reader that reads each secret once. `seen`: the values that it has read, by reference. */
  reading(): { readonly read: ReadSecret; readonly seen: ReadonlyMap<string, string> } {
    const secrets = new Map<string, Promise<JsonObject>>();
    const seen = new Map<string, string>();
    const read: ReadSecret = async (reference, signal) => {
      const { path, version, field } = parseReference(reference);
      const key = `${path}?${version ?? ''}`;
      const found = secrets.get(key) ?? this.#secret(path, version, signal);
      secrets.set(key, found);
      const value = valueOf(await found, field, path);
      seen.set(reference, value);
      return value;
    };
    return { read, seen };
  }

  /** Whether these values have changed in Vault. Rejects when it does not answer. */
  async differs(seen: ReadonlyMap<string, string>, signal: AbortSignal): Promise<boolean> {
    const { read } = this.reading();
    for (const [reference, value] of seen) if ((await read(reference, signal)) !== value) return true;
    return false;
  }

  async close(): Promise<void> {
    await this.#session.close();
  }

  async #secret(path: string, version: string | undefined, signal: AbortSignal | undefined): Promise<JsonObject> {
    const mount = await this.#mountOf(path, signal);
    const inner = path.slice(mount.path.length);
    const at = mount.version === 2 ? `${mount.path}data/${inner}` : path;
    const query = version === undefined ? '' : `?version=${version}`;
    if (query !== '' && mount.version === 1)
      throw new VaultError('refused', `${mount.path} is KV version 1, which has no versions: leave out ${query}`);
    const { status, body } = await this.#session.get(`${escaped(at)}${query}`, signal);
    const outer = mapOf(body['data']);
    if (status === 200) return mount.version === 2 ? mapOf(outer['data']) : outer;
    if (status === 404) throw missing(path, mount, mapOf(outer['metadata']));
    throw this.#denied(status, body, `its policy needs read on ${at}`);
  }

  /** Asks Vault as its own client does, so that users need not name the version of a mount. */
  async #mountOf(path: string, signal: AbortSignal | undefined): Promise<Mount> {
    const first = path.split('/', 1)[0] ?? '';
    for (const known of await Promise.all([...this.#mounts.values()].map((one) => one.catch(() => undefined))))
      if (known !== undefined && path.startsWith(known.path)) return known;
    const asked = this.#mounts.get(path) ?? this.#askMount(path, first, signal);
    this.#mounts.set(path, asked);
    return asked.catch((error: unknown) => {
      this.#mounts.delete(path);
      throw error;
    });
  }

  async #askMount(path: string, first: string, signal: AbortSignal | undefined): Promise<Mount> {
    const { status, body } = await this.#session.get(`sys/internal/ui/mounts/${escaped(path)}`, signal);
    if (status !== 200)
      throw this.#denied(status, body, `it may read nothing below ${first}/, or there is no such mount`);
    const { path: mount, type, options } = mapOf(body['data']);
    const name = textOf(mount) ?? `${first}/`;
    if (type !== 'kv' && type !== 'generic')
      throw new VaultError(
        'refused',
        `${name} is of type ${textOf(type) ?? '?'}: only kv can be read, since others make a new secret for each reading`,
      );
    return { path: name, version: textOf(mapOf(options)['version']) === '2' ? 2 : 1 };
  }

  #denied(status: number, body: JsonObject, hint: string): VaultError {
    const why = errorsIn(body);
    return new VaultError('denied', `${this.#session.host} answers ${status}${why === '' ? '' : ` (${why})`}: ${hint}`);
  }
}

interface Reference {
  readonly path: string;
  readonly version: string | undefined;
  readonly field: string;
}

const form = /^([^/?#\s][^?#\s]*\/[^?#\s]*[^/?#\s])(?:\?version=([1-9]\d{0,8}))?#(.+)$/;

/** Throws when `text` is not a reference. */
function parseReference(text: string): Reference {
  const [, path = '', version, field = ''] = form.exec(text) ?? [];
  if (path === '' || path.split('/').some((part) => part === '' || part === '.' || part === '..'))
    throw new VaultError('refused', 'a secret of Vault is named MOUNT/PATH#FIELD or MOUNT/PATH?version=3#FIELD');
  return { path, version, field };
}

const escaped = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

function valueOf(secret: JsonObject, field: string, path: string): string {
  let value: Json | undefined = Object.hasOwn(secret, field) ? secret[field] : secret;
  if (!Object.hasOwn(secret, field))
    for (const key of field.split('.')) value = isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new VaultError(
    'missing',
    value === undefined ? `${path} has no field ${field}` : `${field} of ${path} is no single value`,
  );
}

function missing(path: string, { path: mount, version }: Mount, metadata: JsonObject): VaultError {
  const number = asText(metadata['version']);
  if (metadata['destroyed'] === true) return new VaultError('missing', `version ${number} of ${path} is destroyed`);
  if ((textOf(metadata['deletion_time']) ?? '') !== '')
    return new VaultError('missing', `version ${number} of ${path} is deleted: vault kv undelete brings it back`);
  const isApiPath = version === 2 && path.startsWith(`${mount}data/`);
  return new VaultError('missing', `there is no ${path}${isApiPath ? `: write it without data/ behind ${mount}` : ''}`);
}
