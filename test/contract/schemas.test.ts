// The facts of every field make sense, the errors are those of the docs, the extensions those of the spec.
import { describe, expect, test } from 'vitest';
import type { TSchema } from 'typebox';
import { AppError, errors, errorTable, statusIn, type ErrorCode } from '../../server/api/errors.ts';
import { extensions } from '../../server/api/server/extensions.ts';
import { factsOf } from '../../server/api/schema/field.ts';
import { schemas } from '../../server/api/endpoints/schemas-by-name.ts';
import { lxdDialect } from '../../server/http/dialects/lxd.ts';
import { svcDialect } from '../../server/http/dialects/svc.ts';
import { expectGolden } from '../support/golden.ts';

interface Field {
  readonly path: string;
  readonly schema: TSchema;
}

function fields(path: string, schema: TSchema): Field[] {
  const keywords = schema as unknown as Record<string, unknown>;
  const parts: [string, TSchema][] = [
    ...Object.entries((keywords['properties'] ?? {}) as Record<string, TSchema>),
    ...Object.values((keywords['patternProperties'] ?? {}) as Record<string, TSchema>).map(
      (one) => ['*', one] as [string, TSchema],
    ),
    ...[...((keywords['anyOf'] ?? keywords['allOf'] ?? []) as TSchema[])].map((one) => ['', one] as [string, TSchema]),
    ...(keywords['items'] === undefined ? [] : [['[]', keywords['items'] as TSchema] as [string, TSchema]]),
  ];
  return [{ path, schema }, ...parts.flatMap(([name, part]) => fields(name === '' ? path : `${path}.${name}`, part))];
}
const all = [...schemas].flatMap(([name, schema]) => fields(name, schema));

describe('field facts', () => {
  test('cover the wire objects of the contract', () => {
    const names = [
      'Server',
      'Certificate',
      'Container',
      'Snapshot',
      'Image',
      'ImageAlias',
      'Profile',
      'Network',
      'StoragePool',
      'StorageVolume',
      'Operation',
      'Cluster',
      'Resources',
      'ErrorEnvelope',
    ];
    for (const name of names) expect(schemas.has(name), name).toBe(true);
    expect(all.length).toBeGreaterThan(400);
  });
  test('use only keywords that validation and documents know', () => {
    const known = new Set([
      'type',
      'properties',
      'required',
      'patternProperties',
      'items',
      'anyOf',
      'allOf',
      'const',
      'enum',
      'format',
      'minLength',
      'maxLength',
      'minItems',
      'maxItems',
      'minimum',
      'maximum',
      'pattern',
      'additionalProperties',
      'description',
      'x-computed',
      'x-immutable',
      'x-secret',
      'x-effect',
      'x-since',
      'x-create-only',
    ]);
    for (const { path, schema } of all) {
      expect(
        Object.keys(schema).filter((keyword) => !known.has(keyword)),
        path,
      ).toEqual([]);
    }
  });
  test('do not contradict each other', () => {
    for (const { path, schema } of all) {
      const facts = factsOf(schema);
      if (facts.computed)
        expect([facts.createOnly, facts.secret, facts.effect], path).toEqual([undefined, undefined, undefined]);
      if (facts.immutable) expect(facts.effect, path).toBeUndefined();
      if (facts.effect !== undefined) expect(['live', 'restart', 'recreate'], path).toContain(facts.effect);
    }
  });
  test('use only extensions that the server advertises', () => {
    for (const { path, schema } of all) {
      const since = factsOf(schema).since;
      if (since !== undefined) expect(extensions, path).toContain(since);
    }
  });
  test('mark every field with a secret name as secret', () => {
    const suspicious = all.filter(({ path }) => /(^|[._])(password|secret)$/.test(path));
    expect(suspicious.length).toBeGreaterThan(2);
    const open = suspicious.filter(({ schema }) => factsOf(schema).secret !== true).map(({ path }) => path);
    expect(open).toEqual([]);
  });
});

describe('the error table', () => {
  // Spec part 7; the real system adds 501 and 503.
  const ofSpec = [400, 401, 403, 404, 409, 412, 500];
  const dialects = [
    ['svc', svcDialect, ofSpec],
    ['lxd', lxdDialect, [...ofSpec, 501, 503]],
  ] as const;
  test.each(dialects)('has only statuses that the dialect %s allows', (_name, dialect, allowed) => {
    for (const code of Object.keys(errorTable) as ErrorCode[]) {
      const { status, body } = dialect.error(new AppError(code, 'why'));
      expect(allowed, code).toContain(status);
      expect(body, code).toMatchObject({ type: 'error', error_code: status });
    }
  });
  test('answers clients of LXD with the statuses of real servers', () => {
    const differing = (Object.keys(errorTable) as ErrorCode[])
      .filter((code) => statusIn('svc', code) !== statusIn('lxd', code))
      .map((code) => [code, statusIn('svc', code), statusIn('lxd', code)]);
    expect(differing).toEqual([
      ['notImplemented', 400, 501],
      ['unavailable', 500, 503],
    ]);
  });
  test('answers clients of LXD with the text that they compare', () => {
    const known = errors.alreadyTrusted('f'.repeat(64));
    expect(lxdDialect.error(known).body).toMatchObject({ error: 'Certificate already in trust store' });
    expect(svcDialect.error(known).body).toMatchObject({
      metadata: { message: expect.stringContaining('ffffffffffff') },
    });
  });
  test('has a constructor for each of its codes, and each constructor makes its code', () => {
    const made: Record<string, AppError> = {
      badRequest: errors.badRequest('x'),
      invalidName: errors.invalidName('profile', 'a/b', 'must not'),
      inUse: errors.inUse('pool', 'p', ['a']),
      running: errors.running('c1', 'deleting it'),
      alreadyTrusted: errors.alreadyTrusted('f'.repeat(64)),
      notCancellable: errors.notCancellable('x'),
      forbidden: errors.forbidden('x'),
      diskFull: errors.diskFull('x'),
      protectedObject: errors.protectedObject('x'),
      notFound: errors.notFound('profile', 'x'),
      exists: errors.exists('profile', 'x'),
      conflict: errors.conflict('profile', 'x'),
      preconditionFailed: errors.preconditionFailed('profile', 'x'),
      tooLarge: errors.tooLarge(5),
      internal: errors.internal('x', new Error('why')),
      notClustered: errors.notClustered('x'),
      notImplemented: errors.notImplemented('x'),
      unauthorized: errors.unauthorized('x'),
      unavailable: errors.unavailable('x'),
      outcomeUnknown: errors.outcomeUnknown('x'),
    };
    expect(Object.keys(made).toSorted()).toEqual(Object.keys(errorTable).toSorted());
    for (const [code, error] of Object.entries(made)) expect(error.code).toBe(code);
  });
  test('equals the documentation', () => {
    const lines = (Object.keys(errorTable) as ErrorCode[]).map(
      (code) => `| ${code} | ${statusIn('svc', code)} | ${statusIn('lxd', code)} | ${errorTable[code].doc} |`,
    );
    expectGolden('contract/errors.md', `| code | svc | lxd | when |\n|---|---|---|---|\n${lines.join('\n')}\n`);
  });
});

// Spec part 9.5, copied by hand in its order.
const specExtensions = `storage_zfs_remove_snapshots, container_host_shutdown_timeout, container_stop_priority, container_syscall_filtering, auth_pki, container_last_used_at, etag, patch, usb_devices, https_allowed_credentials, image_compression_algorithm, directory_manipulation, container_cpu_time, storage_zfs_use_refquota, storage_lvm_mount_options, network, profile_usedby, container_push, container_exec_recording, certificate_update, container_exec_signal_handling, gpu_devices, container_image_properties, migration_progress, id_map, network_firewall_filtering, network_routes, storage, file_delete, file_append, network_dhcp_expiry, storage_lvm_vg_rename, storage_lvm_thinpool_rename, network_vlan, image_create_aliases, container_stateless_copy, container_only_migration, storage_zfs_clone_copy, unix_device_rename, storage_rsync_bwlimit, network_vxlan_interface, storage_btrfs_mount_options, entity_description, image_force_refresh, storage_lvm_lv_resizing, id_map_base, file_symlinks, container_push_target, network_vlan_physical, storage_images_delete, container_edit_metadata, container_snapshot_stateful_migration, storage_driver_ceph, storage_ceph_user_name, instance_types, storage_volatile_initial_source, storage_ceph_force_osd_reuse, storage_block_filesystem_btrfs, resources, kernel_limits, storage_api_volume_rename, external_authentication, network_sriov, console, restrict_devlxd, migration_pre_copy, infiniband, maas_network, devlxd_events, proxy, network_dhcp_gateway, file_get_symlink, network_leases, unix_device_hotplug, storage_api_local_volume_handling, operation_description, clustering, event_lifecycle, storage_api_remote_volume_handling, nvidia_runtime, container_mount_propagation, container_backup, devlxd_images, container_local_cross_pool_handling, proxy_unix, proxy_udp, clustering_join, proxy_tcp_udp_multi_port_handling, network_state, proxy_unix_dac_properties, container_protection_delete, proxy_priv_drop, pprof_http, proxy_haproxy_protocol, network_hwaddr, proxy_nat, network_nat_order, container_full, backup_compression, nvidia_runtime_config, storage_api_volume_snapshots, storage_unmapped, projects, network_vxlan_ttl, container_incremental_copy, usb_optional_vendorid, snapshot_scheduling, container_copy_project, clustering_server_address, clustering_image_replication, container_protection_shift, snapshot_expiry, snapshot_expiry_creation, id_map_current`;

describe('the extensions', () => {
  test('are all those of the spec, each once', () => {
    const expected = specExtensions.split(', ');
    expect(expected.filter((name) => !extensions.includes(name))).toEqual([]);
    expect(new Set(extensions).size).toBe(extensions.length);
    // The three identity-provider ones have no names in the spec.
    const further = extensions.filter((name) => !expected.includes(name));
    expect(further.slice(0, 3).every((name) => name.startsWith('candid_'))).toBe(true);
    expect(expected.length + further.length).toBe(extensions.length);
  });
  test('keep the order of the spec, since they are only ever appended to', () => {
    const positions = specExtensions.split(', ').map((name) => extensions.indexOf(name));
    expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  });
});
