// Reads an image's metadata.yaml into typed facts, or throws an error that names the field.
import { type DriverError, driverErrors } from '../driver-error.ts';
import { readYaml } from './read-yaml.ts';

/** Field names are those of the file, and of the API. */
export interface ImageMetadata {
  readonly architecture: string;
  /** Unix time, not 0. */
  readonly creation_date: number;
  /** Unix time; 0: none. */
  readonly expiry_date: number;
  readonly properties: Readonly<Record<string, string>>;
  /** By the path of the rendered file. */
  readonly templates: Readonly<Record<string, ImageTemplate>>;
}

export interface ImageTemplate {
  readonly when: readonly string[];
  readonly create_only: boolean;
  /** Name of a file in `templates/`. */
  readonly template: string;
  readonly properties: Readonly<Record<string, string>>;
}

/** Max members of any map in it: properties become config keys of each container. */
const maxMembers = 1000;
export const maxMetadataBytes = 1024 * 1024;

/** Throws Invalid. Loads the YAML reader at the first call: most daemons start without needing it. */
export async function parseMetadata(text: string): Promise<ImageMetadata> {
  const document = asMap(await readYaml(text, 'metadata.yaml of the image'), 'the whole');
  const creationDate = asInteger(document['creation_date'], 'creation_date');
  if (creationDate === 0) throw broken('creation_date', 'is missing or 0');
  const templates = Object.entries(asMap(document['templates'], 'templates'));
  return {
    architecture: asText(document['architecture'], 'architecture', isFilled),
    creation_date: creationDate,
    expiry_date: asInteger(document['expiry_date'], 'expiry_date'),
    properties: asTexts(document['properties'], 'properties'),
    templates: Object.fromEntries(templates.map(([path, value]) => [path, asTemplate(path, value)])),
  };
}

export async function renderMetadata(metadata: ImageMetadata): Promise<string> {
  const { renderYaml } = await import('./yaml-parser.ts');
  return renderYaml(metadata);
}

function asTemplate(path: string, value: unknown): ImageTemplate {
  const where = `templates.${path}`;
  if (!path.startsWith('/') || path.split('/').includes('..') || path.includes('\0'))
    throw broken(where, 'must be for an absolute path without ..');
  const fields = asMap(value, where);
  const file = asText(fields['template'], `${where}.template`, isFilled);
  if (file.includes('/') || file.includes('\0') || file === '.' || file === '..')
    throw broken(`${where}.template`, 'must be the name of a file in templates/');
  const when = fields['when'] ?? [];
  if (!Array.isArray(when)) throw broken(`${where}.when`, 'must be a list');
  const createOnly = fields['create_only'] ?? false;
  if (typeof createOnly !== 'boolean') throw broken(`${where}.create_only`, 'must be true or false');
  return {
    // Unknown words are ignored when templates are applied.
    when: when.map((word: unknown) => asText(word ?? '', `${where}.when`, () => true)).filter(isFilled),
    create_only: createOnly,
    template: file,
    properties: asTexts(fields['properties'], `${where}.properties`),
  };
}

function asMap(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (value === null || value === undefined) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw broken(where, 'must be a map');
  const members = Object.entries(value);
  if (members.length > maxMembers) throw broken(where, `must have at most ${maxMembers} members`);
  return Object.fromEntries(members);
}

/** Users write numbers and booleans without quotes: `release: 12`. */
function asTexts(value: unknown, where: string): Readonly<Record<string, string>> {
  const entries = Object.entries(asMap(value, where));
  return Object.fromEntries(entries.map(([name, text]) => [name, asText(text ?? '', `${where}.${name}`, () => true)]));
}

function asText(value: unknown, where: string, accepts: (text: string) => boolean): string {
  const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  if (!isPlain || !accepts(String(value))) throw broken(where, value === undefined ? 'is missing' : 'must be text');
  return String(value);
}

function isFilled(text: string): boolean {
  return text !== '';
}

function asInteger(value: unknown, where: string): number {
  if (value === undefined || value === null) return 0;
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw broken(where, 'must be a whole number');
  return value;
}

function broken(field: string, rule: string): DriverError {
  return driverErrors.invalid(`${field} in metadata.yaml of the image ${rule}`);
}
