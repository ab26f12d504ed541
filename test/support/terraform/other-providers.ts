// Fakes of the LXD and Incus providers: only schemas, which Terraform loads if a state names these providers, and such states.
import { text, type Attributes } from '../../../provider/framework/attribute.ts';
import { resource, type AnyProvider, type AnyResource } from '../../../provider/framework/provider.ts';
import { pluginHere, reattached } from './plugin-here.ts';
import type { Attached, Terraform } from './terraform.ts';

const types = [
  'instance',
  'container',
  'profile',
  'network',
  'storage_pool',
  'volume',
  'storage_volume',
  'snapshot',
  'instance_snapshot',
  'instance_file',
  'cached_image',
  'image',
];

/** Terraform loads the schemas of all providers that a state names and calls nothing else. */
function standIn(name: 'lxd' | 'incus'): AnyProvider<object> {
  const attributes: Attributes = { name: text({ doc: '' }) };
  const never = (): Promise<never> =>
    Promise.reject(new Error('Terraform called a stand-in, of which it needs the schemas alone'));
  const of = (short: string): AnyResource<object> =>
    resource<object>()({
      typeName: `${name}_${short}`,
      doc: '',
      version: 0,
      attributes,
      identity: ['name'],
      read: never,
      create: never,
      update: never,
      delete: never,
      importing: { doc: '', example: '', parse: () => ({}), id: () => '' },
    });
  return {
    name,
    doc: '',
    attributes: {},
    configure: () => Promise.resolve({ client: {}, close: () => Promise.resolve() }),
    resources: types.map(of),
    dataSources: [],
    functions: [],
    ephemeralResources: [],
    explain: () => [],
  };
}

async function attach(provider: AnyProvider<object>, source: string): Promise<StandIn> {
  const plugin = await pluginHere(provider);
  return { entry: reattached(source, plugin), stop: () => plugin.stop() };
}

export interface StandIn {
  readonly entry: object;
  stop(): void;
}

export const standIns = async (): Promise<readonly StandIn[]> => [
  await attach(standIn('lxd'), 'registry.terraform.io/terraform-lxd/lxd'),
  await attach(standIn('incus'), 'registry.terraform.io/lxc/incus'),
];

/** Terraform finds them beside our provider. */
export function attachBeside({ env }: Terraform, others: readonly StandIn[]): void {
  const own = JSON.parse((env as Attached['env'])['TF_REATTACH_PROVIDERS'] ?? '{}') as object;
  env['TF_REATTACH_PROVIDERS'] = JSON.stringify(Object.assign({}, own, ...others.map(({ entry }) => entry)));
}

/** One resource instance in a state of those providers. */
export interface Old {
  readonly type: string;
  readonly name: string;
  /** Present where the resource has `count` or `for_each`. */
  readonly index?: number | string;
  readonly version?: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export const stateFile = (provider: string, olds: readonly Old[]): string =>
  JSON.stringify({
    version: 4,
    terraform_version: '1.9.0',
    serial: 3,
    lineage: '7d4f2a70-0000-4000-8000-000000000000',
    outputs: {},
    resources: byResource(olds).map((instances) => ({
      mode: 'managed',
      type: instances[0]?.type,
      name: instances[0]?.name,
      provider: `provider["registry.terraform.io/${provider}"]`,
      instances: instances.map(({ index, version = 0, attributes }) => ({
        ...(index === undefined ? {} : { index_key: index }),
        schema_version: version,
        attributes,
        sensitive_attributes: [],
      })),
    })),
    check_results: null,
  });

function byResource(olds: readonly Old[]): readonly (readonly Old[])[] {
  const key = ({ type, name }: Old): string => `${type}.${name}`;
  return [...new Set(olds.map(key))].map((one) => olds.filter((old) => key(old) === one));
}
