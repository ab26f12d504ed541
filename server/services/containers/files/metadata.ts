// Metadata and templates of containers (spec 2.8, 4.6): reads and changes what the image brought.
import type {
  ContainerMetadata,
  ContainerMetadataPatch,
  ContainerMetadataPut,
} from '../../../api/container/container.ts';
import { errors, checkName } from '../../../api/errors.ts';
import { parseMetadata, renderMetadata } from '../../../drivers/image/metadata.ts';
import type { Caller } from '../../shared/caller.ts';
import { checkIfMatch, etagOf } from '../../shared/etag.ts';
import type { ContainerDeps } from '../deps.ts';
import { lockOf, readyContainer } from '../../shared/find-container.ts';
import { containerUrl } from '../../../api/project/project-names.ts';
import { volumeDir } from './file-tree.ts';
import { checkMetadata, templateNameRule } from './metadata-check.ts';
import type { ContainerEntry } from '../../shared/container-view.ts';
import {
  hasTemplate,
  readMetadataText,
  readTemplateText,
  removeTemplate,
  templateNames,
  writeMetadataText,
  writeTemplateText,
} from './volume-files.ts';

type MetadataDeps = Pick<ContainerDeps, 'records' | 'pools' | 'locks' | 'events'>;

export class ContainersMetadata {
  readonly #deps: MetadataDeps;

  constructor(deps: MetadataDeps) {
    this.#deps = deps;
  }

  async get(name: string): Promise<{ readonly object: ContainerMetadata; readonly etag: string }> {
    const object = await readMetadata(this.#deps, readyContainer(this.#deps.records, name));
    return { object, etag: etagOf.containerMetadata(object) };
  }

  put(caller: Caller, name: string, body: ContainerMetadataPut, ifMatch: string | undefined): Promise<void> {
    return this.#write(caller, name, ifMatch, () => body);
  }

  patch(caller: Caller, name: string, body: ContainerMetadataPatch, ifMatch: string | undefined): Promise<void> {
    const merged = <T>(now: T, sent: Partial<T> | null | undefined): T | null =>
      sent === null ? null : { ...now, ...sent };
    return this.#write(caller, name, ifMatch, (now) => ({
      ...now,
      ...body,
      properties: merged(now.properties, body.properties),
      templates: merged<NonNullable<ContainerMetadataPut['templates']>>(now.templates, body.templates),
    }));
  }

  templates(name: string): Promise<readonly string[]> {
    return templateNames(this.#volume(name));
  }

  async readTemplate(name: string, template: string): Promise<Buffer> {
    checkTemplateName(template);
    const bytes = await readTemplateText(this.#volume(name), `container ${name}`, template);
    if (bytes === undefined) throw noTemplate(name, template);
    return bytes;
  }

  async createTemplate(caller: Caller, name: string, template: string, bytes: Buffer): Promise<void> {
    checkTemplateName(template);
    await this.#change(caller, name, async (volume) => {
      if (await hasTemplate(volume, template)) throw errors.exists('template', `${name}/${template}`);
      await writeTemplateText(volume, template, bytes);
    });
  }

  async replaceTemplate(caller: Caller, name: string, template: string, bytes: Buffer): Promise<void> {
    checkTemplateName(template);
    await this.#change(caller, name, async (volume) => {
      if (!(await hasTemplate(volume, template))) throw noTemplate(name, template);
      await writeTemplateText(volume, template, bytes);
    });
  }

  async deleteTemplate(caller: Caller, name: string, template: string): Promise<void> {
    checkTemplateName(template);
    await this.#change(caller, name, async (volume) => {
      if (!(await hasTemplate(volume, template))) throw noTemplate(name, template);
      await removeTemplate(volume, template);
    });
  }

  async #write(
    caller: Caller,
    name: string,
    ifMatch: string | undefined,
    next: (now: ContainerMetadata) => ContainerMetadataPut,
  ): Promise<void> {
    await this.#change(caller, name, async (volume) => {
      const { object, etag } = await this.get(name);
      checkIfMatch(ifMatch, etag, 'metadata of container', name);
      await writeMetadataText(volume, await renderMetadata(checkMetadata(next(object), object)));
    });
  }

  async #change(caller: Caller, name: string, work: (volume: string) => Promise<void>): Promise<void> {
    readyContainer(this.#deps.records, name);
    await this.#deps.locks.run(lockOf(name), () => work(this.#volume(name)));
    this.#deps.events.lifecycle('container-updated', containerUrl(name), caller);
  }

  #volume(name: string): string {
    return volumeDir(this.#deps, name, readyContainer(this.#deps.records, name).document.pool);
  }
}

/** A container without an image has only the metadata that needs none. */
export async function readMetadata(
  deps: Pick<MetadataDeps, 'pools'>,
  { name, document }: ContainerEntry,
): Promise<ContainerMetadata> {
  const text = await readMetadataText(volumeDir(deps, name, document.pool), `container ${name}`);
  if (text === undefined) {
    const creationDate = Math.floor(Date.parse(document.createdAt) / 1000);
    const { architecture } = document;
    return { architecture, creation_date: creationDate, expiry_date: 0, properties: {}, templates: {} };
  }
  const { templates, properties, ...rest } = await parseMetadata(text);
  const own = Object.entries(templates).map(([target, one]): [string, ContainerMetadata['templates'][string]] => [
    target,
    { ...one, when: [...one.when], properties: { ...one.properties } },
  ]);
  return { ...rest, properties: { ...properties }, templates: Object.fromEntries(own) };
}

function checkTemplateName(template: string): void {
  checkName('template', template, templateNameRule);
}

const noTemplate = (name: string, template: string) => errors.notFound('template', `${name}/${template}`);
