// Image aliases: use cases of the API. Alias names are qualified; targets are fingerprints of images of the same project.
import type { ServiceParts } from '../shared/service-parts.ts';
import { errors, mustFind, checkName } from '../../api/errors.ts';
import type { ImageAlias, ImageAliasCreate, ImageAliasPut } from '../../api/image/image.ts';
import { aliasName } from '../../api/names.ts';
import { aliasUrl, plainName, projectOf, qualifiedName } from '../../api/project/project-names.ts';
import type { AliasDocument } from '../../records/documents.ts';
import type { Changes } from '../../records/changes.ts';
import type { Entry } from '../../records/records.ts';
import type { Caller } from '../shared/caller.ts';
import { checkIfMatch, etagOf } from '../shared/etag.ts';
import { ofProject, projectWith } from '../shared/project-scope.ts';
import type { ImageStore } from './image-store.ts';

export interface AliasesDeps extends Pick<ServiceParts, 'records' | 'events'> {
  readonly images: ImageStore;
}

export class Aliases {
  readonly #deps: AliasesDeps;

  constructor(deps: AliasesDeps) {
    this.#deps = deps;
  }

  urls(project: string): readonly string[] {
    return this.#of(project).map((entry) => aliasUrl(entry.name));
  }

  list(project: string): readonly ImageAlias[] {
    return this.#of(project).map(render);
  }

  #of(project: string): readonly Entry<AliasDocument>[] {
    const { records } = this.#deps;
    return ofProject(records.aliases.list(), projectWith(records, project, 'features.images'));
  }

  /** Without trust: finds only aliases of public images. */
  get(name: string, trusted: boolean): { readonly object: ImageAlias; readonly etag: string } {
    const entry = this.#find(name);
    if (!trusted && !this.#target(name, entry.document.target).document.public)
      throw errors.notFound('image alias', plainName(name));
    return { object: render(entry), etag: etagOf.alias(entry.document) };
  }

  async create(caller: Caller, name: string, body: Omit<ImageAliasCreate, 'name'>): Promise<void> {
    checkName('image alias', plainName(name), aliasName);
    await this.#deps.records.retry((changes) => {
      if (this.#deps.records.aliases.has(name)) throw errors.exists('image alias', plainName(name));
      const target = this.#target(name, body.target).name;
      this.#needImage(changes, target);
      changes.put('aliases', name, { v: 1, description: body.description ?? '', target: plainName(target) });
    });
    this.#deps.events.lifecycle('image-alias-created', aliasUrl(name), caller);
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
    checkName('image alias', plainName(to), aliasName);
    await this.#deps.records.retry((changes) => {
      const { document } = this.#find(name);
      if (this.#deps.records.aliases.has(to)) throw errors.exists('image alias', plainName(to));
      changes.delete('aliases', name);
      changes.put('aliases', to, document);
    });
    this.#deps.events.lifecycle('image-alias-renamed', aliasUrl(name), caller, { new_name: plainName(to) });
  }

  async delete(caller: Caller, name: string): Promise<void> {
    await this.#deps.records.retry((changes) => {
      this.#find(name);
      changes.delete('aliases', name);
    });
    this.#deps.events.lifecycle('image-alias-deleted', aliasUrl(name), caller);
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
      checkIfMatch(ifMatch, etagOf.alias(document), 'image alias', plainName(name));
      const image = target === undefined ? imageOf(name, document) : this.#target(name, target).name;
      this.#needImage(changes, image);
      changes.put('aliases', name, { v: 1, description: description(document), target: plainName(image) });
    });
    this.#deps.events.lifecycle('image-alias-updated', aliasUrl(name), caller);
  }

  #find(name: string): Entry<AliasDocument> {
    return mustFind(this.#deps.records.aliases.get(name), 'image alias', plainName(name));
  }

  /** An image that only other members have has no record here that could be deleted. */
  #needImage(changes: Changes, image: string): void {
    if (this.#deps.records.images.has(image)) changes.require('images', image);
  }

  /** The image by fingerprint, or a prefix of it, in the project of the alias. */
  #target(alias: string, fingerprint: string) {
    return this.#deps.images.find(qualifiedName(projectOf(alias), fingerprint));
  }
}

const imageOf = (alias: string, { target }: AliasDocument): string => qualifiedName(projectOf(alias), target);

function render({ name, document }: Entry<AliasDocument>): ImageAlias {
  return { name: plainName(name), description: document.description, target: document.target };
}
