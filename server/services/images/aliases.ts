// Image aliases: use cases of the API.
import { errors } from '../../api/errors.ts';
import type { ImageAlias, ImageAliasCreate, ImageAliasPut } from '../../api/image/image.ts';
import { aliasName } from '../../api/names.ts';
import type { EventHub } from '../../events/hub.ts';
import type { AliasDocument } from '../../records/documents.ts';
import type { Entry, Records } from '../../records/records.ts';
import type { Caller } from '../caller.ts';
import { checkIfMatch, etagOf } from '../etag.ts';
import type { ImageStore } from './image-store.ts';

export interface AliasesDeps {
  readonly records: Records;
  readonly images: ImageStore;
  readonly events: EventHub;
}

export const aliasUrl = (name: string): string =>
  `/1.0/images/aliases/${name.split('/').map(encodeURIComponent).join('/')}`;

export class Aliases {
  readonly #deps: AliasesDeps;

  constructor(deps: AliasesDeps) {
    this.#deps = deps;
  }

  names(): readonly string[] {
    return this.#deps.records.aliases.list().map((entry) => entry.name);
  }

  list(): readonly ImageAlias[] {
    return this.#deps.records.aliases.list().map(render);
  }

  /** Without trust: only an alias of a public image is there. */
  get(name: string, trusted: boolean): { readonly object: ImageAlias; readonly etag: string } {
    const entry = this.#find(name);
    if (!trusted && !this.#deps.images.find(entry.document.target).document.public)
      throw errors.notFound('image alias', name);
    return { object: render(entry), etag: etagOf.alias(entry.document) };
  }

  async create(caller: Caller, body: ImageAliasCreate): Promise<void> {
    const { name } = body;
    const rule = aliasName(name);
    if (rule !== undefined) throw errors.invalidName('image alias', name, rule);
    await this.#deps.records.retry((changes) => {
      if (this.#deps.records.aliases.has(name)) throw errors.exists('image alias', name);
      const target = this.#deps.images.find(body.target).name;
      changes.require('images', target);
      changes.put('aliases', name, { v: 1, description: body.description ?? '', target });
    });
    this.#deps.events.lifecycle('image-alias-created', aliasUrl(name), undefined, caller.requestor);
  }

  async put(caller: Caller, name: string, body: ImageAliasPut, ifMatch: string | undefined): Promise<void> {
    if (body.target === undefined || body.target === '') {
      throw errors.invalid('image alias', [{ path: 'target', message: 'is required: the fingerprint of an image' }]);
    }
    await this.#change(caller, name, ifMatch, body.target, () => body.description ?? '');
  }

  patch(caller: Caller, name: string, body: ImageAliasPut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, name, ifMatch, body.target, (document) => body.description ?? document.description);
  }

  async rename(caller: Caller, name: string, to: string): Promise<void> {
    const rule = aliasName(to);
    if (rule !== undefined) throw errors.invalidName('image alias', to, rule);
    await this.#deps.records.retry((changes) => {
      const { document } = this.#find(name);
      if (this.#deps.records.aliases.has(to)) throw errors.exists('image alias', to);
      changes.delete('aliases', name);
      changes.put('aliases', to, document);
    });
    this.#deps.events.lifecycle('image-alias-renamed', aliasUrl(name), { new_name: to }, caller.requestor);
  }

  async delete(caller: Caller, name: string): Promise<void> {
    await this.#deps.records.retry((changes) => {
      this.#find(name);
      changes.delete('aliases', name);
    });
    this.#deps.events.lifecycle('image-alias-deleted', aliasUrl(name), undefined, caller.requestor);
  }

  async #change(
    caller: Caller,
    name: string,
    ifMatch: string | undefined,
    target: string | undefined,
    description: (document: AliasDocument) => string,
  ): Promise<void> {
    await this.#deps.records.retry((changes) => {
      const { document } = this.#find(name);
      checkIfMatch(ifMatch, etagOf.alias(document), 'image alias', name);
      const fingerprint = target === undefined ? document.target : this.#deps.images.find(target).name;
      changes.require('images', fingerprint);
      changes.put('aliases', name, { v: 1, description: description(document), target: fingerprint });
    });
    this.#deps.events.lifecycle('image-alias-updated', aliasUrl(name), undefined, caller.requestor);
  }

  #find(name: string): Entry<AliasDocument> {
    const entry = this.#deps.records.aliases.get(name);
    if (entry === undefined) throw errors.notFound('image alias', name);
    return entry;
  }
}

function render({ name, document }: Entry<AliasDocument>): ImageAlias {
  return { name, description: document.description, target: document.target };
}
