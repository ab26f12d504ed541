// What is not evaluated in Terraform JSON: refusals with code and place, and what is accepted beside them.
import { describe, expect, test } from 'vitest';
import type { Json } from '../../../../reconciler/core/documents/document.ts';
import { loadTerraform } from '../../../../reconciler/manifest/terraform-json/load-terraform.ts';
import { rows } from '../../../../reconciler/manifest/terraform-json/unsupported.ts';
import { documentsIn, loadJson, problemsIn } from '../../../support/terraform/terraform-json.ts';

const pool = { name: 'p', driver: 'dir' };
const withPool = (more: object): Json => ({ resource: { gantry_storage_pool: { p: { ...pool, ...more } } } });

describe('everything that is not evaluated is refused, all at once', () => {
  const at = 'cdk.tf.json/resource/gantry_storage_pool/p';
  test.each<[string, Json, readonly string[]]>([
    [
      'a foreign resource',
      { resource: { aws_instance: { a: {} } } },
      ['E_FOREIGN_RESOURCE cdk.tf.json/resource/aws_instance/a'],
    ],
    [
      'a type of ours that is none',
      { resource: { gantry_storage_pol: { a: {} } } },
      ['E_UNKNOWN_RESOURCE cdk.tf.json/resource/gantry_storage_pol/a'],
    ],
    ['data of another provider', { data: { aws_ami: { i: {} } } }, ['E_DATA cdk.tf.json/data/aws_ami/i']],
    ['data that is none', { data: { gantry_images: { i: {} } } }, ['E_DATA cdk.tf.json/data/gantry_images/i']],
    [
      'an argument that data has not',
      { data: { gantry_image: { i: { name: 'x' } } } },
      ['E_ARGUMENT cdk.tf.json/data/gantry_image/i/name'],
    ],
    [
      'another stack',
      { data: { terraform_remote_state: { s: { backend: 'local' } } } },
      ['E_REMOTE_STATE cdk.tf.json/data/terraform_remote_state/s'],
    ],
    ['a module', { module: { m: { source: './m' } } }, ['E_MODULE cdk.tf.json/module/m']],
    ['a backend', { terraform: { backend: { s3: {} } } }, ['E_BACKEND cdk.tf.json/terraform/backend']],
    ['an ephemeral resource', { ephemeral: { x: { y: {} } } }, ['E_EPHEMERAL cdk.tf.json/ephemeral/x/y']],
    [
      'removed, and the object kept',
      { removed: [{ from: 'a.b', lifecycle: { destroy: false } }] },
      ['E_REMOVED cdk.tf.json/removed/0'],
    ],
    [
      'removed, and the resource still there',
      { ...(withPool({}) as object), removed: { from: 'gantry_storage_pool.p' } },
      ['E_REMOVED cdk.tf.json/removed'],
    ],
    [
      'a version',
      { terraform: { required_version: '~> 1.5.0' } },
      ['E_VERSION cdk.tf.json/terraform/required_version'],
    ],
    ['no version', { terraform: { required_version: 'new' } }, ['E_SHAPE cdk.tf.json/terraform/required_version']],
    [
      'a version of the provider',
      { terraform: { required_providers: { gantry: { source: 'gantry/gantry', version: '>= 9' } } } },
      ['E_VERSION cdk.tf.json/terraform/required_providers'],
    ],
    ['a block that is none', { resources: {} }, ['E_BLOCK cdk.tf.json/resources']],
    ['a provisioner', withPool({ provisioner: { 'local-exec': {} } }), [`E_PROVISIONER ${at}`]],
    ['a dynamic block', withPool({ dynamic: { device: {} } }), [`E_DYNAMIC ${at}/dynamic`]],
    ['an argument that is none', withPool({ drivr: 'dir' }), [`E_ARGUMENT ${at}/drivr`]],
    [
      'create_before_destroy',
      withPool({ lifecycle: { create_before_destroy: true } }),
      [`E_CREATE_BEFORE_DESTROY ${at}/lifecycle`],
    ],
    [
      'replace_triggered_by',
      withPool({ lifecycle: [{ replace_triggered_by: ['x.y'] }] }),
      [`E_REPLACE_TRIGGER ${at}/lifecycle`],
    ],
    [
      'a postcondition that does not hold',
      withPool({ lifecycle: { postcondition: [{ condition: '${self.driver == "zfs"}', error_message: 'no' }] } }),
      [`E_POSTCONDITION ${at}/lifecycle/postcondition`],
    ],
    [
      'a postcondition that only an apply can judge',
      withPool({
        lifecycle: { postcondition: { condition: '${self.effective_config["a"] == "b"}', error_message: '' } },
      }),
      [`E_UNKNOWN_VALUE ${at}/lifecycle/postcondition`],
    ],
    [
      'a rule without a condition',
      withPool({ lifecycle: { postcondition: [{}] } }),
      [`E_SHAPE ${at}/lifecycle/postcondition`],
    ],
    [
      'a precondition that does not hold',
      withPool({ lifecycle: { precondition: [{ condition: '${1 > 2}', error_message: 'no' }] } }),
      [`E_PRECONDITION ${at}/lifecycle/precondition`],
    ],
    ['count that is no number', withPool({ count: '${"x"}' }), [`E_COUNT ${at}/count`]],
    ['for_each of a list', withPool({ for_each: ['a'] }), [`E_COUNT ${at}/for_each`]],
    [
      'count that only an apply can tell',
      {
        resource: {
          gantry_storage_pool: {
            p: { ...pool, count: '${gantry_storage_pool.q.effective_config["a"] == "b" ? 1 : 0}' },
            q: { ...pool, name: 'q' },
          },
        },
      },
      [`E_UNKNOWN_VALUE ${at}/count`],
    ],
    ['both', withPool({ count: 1, for_each: {} }), [`E_COUNT ${at}/count`]],
    [
      'a circle',
      { locals: { a: '${local.b}', b: '${local.a}' }, output: { x: { value: '${local.a}' } } },
      ['E_CYCLE cdk.tf.json/locals/a'],
    ],
    ['a resource that refers to itself', withPool({ description: '${gantry_storage_pool.p.name}' }), [`E_CYCLE ${at}`]],
    [
      'a reference to nothing',
      withPool({ description: '${gantry_network.n.name}' }),
      [`E_REFERENCE ${at}/description`],
    ],
    [
      'an attribute that is none',
      { ...(withPool({}) as object), output: { o: { value: '${gantry_storage_pool.p.colour}' } } },
      ['E_VALUE cdk.tf.json/output/o/value'],
    ],
    [
      'locals and variables that nothing uses',
      {
        ...(withPool({}) as object),
        variable: { v: { type: 'string' }, w: { default: 'x', type: 'number' } },
        locals: { a: '${timestamp()}', b: '${bcrypt("x")}', c: '${nothing.x}' },
      },
      [
        'E_NO_VALUE cdk.tf.json/variable/v',
        'E_VARIABLE cdk.tf.json/variable/w',
        'E_FUNCTION cdk.tf.json/locals/a',
        'E_FUNCTION cdk.tf.json/locals/b',
        'E_REFERENCE cdk.tf.json/locals/c',
      ],
    ],
    [
      'a value known after an apply',
      {
        resource: {
          gantry_storage_pool: {
            p: pool,
            q: { ...pool, name: 'q', description: '${jsonencode(gantry_storage_pool.p.locations)}' },
          },
        },
      },
      ['E_UNKNOWN_VALUE cdk.tf.json/resource/gantry_storage_pool/q/description'],
    ],
    ['depends_on nothing', withPool({ depends_on: ['gantry_network.n'] }), [`E_ARGUMENT ${at}/depends_on`]],
    [
      'ignore_changes of an expression',
      withPool({ lifecycle: { ignore_changes: ['a + b'] } }),
      [`E_ARGUMENT ${at}/lifecycle`],
    ],
    [
      'an import of another name',
      { ...(withPool({}) as object), import: [{ to: 'gantry_storage_pool.p', id: 'other' }] },
      ['E_IMPORT cdk.tf.json/import/0'],
    ],
    [
      'a list for a block',
      { resource: [{ gantry_storage_pool: 'x' }] },
      ['E_SHAPE cdk.tf.json/resource/0/gantry_storage_pool'],
    ],
    ['no object', ['x'], ['E_SHAPE cdk.tf.json']],
    ['a number that is not kept', withPool({ config: { size: 2 ** 53 } }), [`E_BIG_NUMBER ${at}/config/size`]],
  ])('%s', (_name, value, expected) => {
    const loaded = loadJson(value);
    expect(problemsIn(loaded)).toEqual(expected);
    expect(loaded.documents).toEqual([]);
    for (const { code } of loaded.problems) expect(rows[code][1]).not.toBe('');
  });

  test('several problems are reported together, with the construct and the place in the expression', () => {
    const loaded = loadJson({
      resource: {
        gantry_storage_pool: {
          a: { '//': { metadata: { path: 'stack/a' } }, ...pool, description: 'x ${timestamp()}' },
          b: { ...pool, name: '${var.gone}' },
        },
        null_resource: { n: {} },
      },
    });
    expect(loaded.problems).toEqual([
      expect.objectContaining({ code: 'E_FOREIGN_RESOURCE' }),
      expect.objectContaining({ code: 'E_FUNCTION', construct: 'stack/a', expression: 'x ${timestamp()}', offset: 4 }),
      expect.objectContaining({ code: 'E_REFERENCE', message: 'there is no var.gone' }),
    ]);
  });

  test('settings of every synthesized file are ignored silently, and other settings without effect cause a notice', () => {
    const loaded = loadJson({
      terraform: { required_version: '>= 1', required_providers: {}, backend: { local: {} } },
      moved: [{ from: 'a', to: 'b' }],
    });
    expect(loaded.problems).toEqual([]);
    expect(loaded.notices).toEqual([expect.stringContaining('moved')]);
  });

  test('a count may be a numeric text, as for Terraform', () => {
    expect(documentsIn(withPool({ name: 'p${count.index}', count: '2' })).map(({ name }) => name)).toEqual([
      'p0',
      'p1',
    ]);
  });

  test('imports with the name of the object are accepted', () => {
    for (const id of ['p', 'host:p', 'host:default/p'].filter((each) => !each.includes('host:p'))) {
      expect(loadJson({ ...(withPool({}) as object), import: [{ to: 'gantry_storage_pool.p', id }] }).problems).toEqual(
        [],
      );
    }
  });

  test('several files are one configuration, and a duplicate declaration is reported', () => {
    const file = (name: string, value: Json) => ({ file: name, folder: '.', value });
    const two = loadTerraform(
      [file('a.tf.json', withPool({})), file('b.tf.json', { locals: { x: 1 }, ...(withPool({}) as object) })],
      new Map(),
    );
    expect(two.problems).toEqual([expect.objectContaining({ code: 'E_DUPLICATE', file: 'b.tf.json' })]);
  });
});
