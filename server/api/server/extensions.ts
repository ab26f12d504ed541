// The API extensions of the spec (part 9.5), in its order, and later ones; clients test for these exact names.

const specExtensions = `storage_zfs_remove_snapshots container_host_shutdown_timeout container_stop_priority
container_syscall_filtering auth_pki container_last_used_at etag patch usb_devices https_allowed_credentials
image_compression_algorithm directory_manipulation container_cpu_time storage_zfs_use_refquota
storage_lvm_mount_options network profile_usedby container_push container_exec_recording certificate_update
container_exec_signal_handling gpu_devices container_image_properties migration_progress id_map
network_firewall_filtering network_routes storage file_delete file_append network_dhcp_expiry
storage_lvm_vg_rename storage_lvm_thinpool_rename network_vlan image_create_aliases container_stateless_copy
container_only_migration storage_zfs_clone_copy unix_device_rename storage_rsync_bwlimit network_vxlan_interface
storage_btrfs_mount_options entity_description image_force_refresh storage_lvm_lv_resizing id_map_base
file_symlinks container_push_target network_vlan_physical storage_images_delete container_edit_metadata
container_snapshot_stateful_migration storage_driver_ceph storage_ceph_user_name instance_types
storage_volatile_initial_source storage_ceph_force_osd_reuse storage_block_filesystem_btrfs resources
kernel_limits storage_api_volume_rename external_authentication network_sriov console restrict_devlxd
migration_pre_copy infiniband maas_network devlxd_events proxy network_dhcp_gateway file_get_symlink
network_leases unix_device_hotplug storage_api_local_volume_handling operation_description clustering
event_lifecycle storage_api_remote_volume_handling nvidia_runtime container_mount_propagation container_backup
devlxd_images container_local_cross_pool_handling proxy_unix proxy_udp clustering_join
proxy_tcp_udp_multi_port_handling network_state proxy_unix_dac_properties container_protection_delete
proxy_priv_drop pprof_http proxy_haproxy_protocol network_hwaddr proxy_nat network_nat_order container_full
backup_compression nvidia_runtime_config storage_api_volume_snapshots storage_unmapped projects
network_vxlan_ttl container_incremental_copy usb_optional_vendorid snapshot_scheduling container_copy_project
clustering_server_address clustering_image_replication container_protection_shift snapshot_expiry
snapshot_expiry_creation id_map_current`;

/** The spec counts the three identity-provider extensions without naming them: these are the public names. */
const identityExtensions = ['candid_authentication', 'candid_config', 'candid_config_key'];

/** Later extensions, by their public names. */
const laterExtensions = [
  'clustering_roles',
  'clustering_failure_domains',
  'clustering_architecture',
  'clustering_description',
  'clustering_join_token',
  'clustering_update_cert',
  'clustering_edit_roles',
  'clustering_config',
  'clustering_groups',
  'container_exec_user_group_cwd',
  'instance_pool_move',
  'instance_project_move',
  'instance_all_projects',
  'instance_allow_inconsistent_copy',
  'image_source_project',
  'storage_api_project',
  'storage_cephfs',
  'storage_shifted',
  'storage_lvm_vg_force_reuse',
  'storage_rsync_compression',
  'volume_snapshot_scheduling',
  'zfs_block_mode',
  'custom_volume_snapshot_expiry',
  'custom_volume_backup',
  'custom_volume_refresh',
  'cluster_internal_custom_volume_copy',
  'cluster_internal_copy',
  'cloud_init',
  'linux_sysctl',
  'network_dns_search',
  'network_nat_address',
  'network_counters_errors_dropped',
  'network_acl',
  'network_bridge_acl',
  'container_nic_routes',
  'container_nic_ipvlan',
  'container_nic_routed',
  'container_nic_routed_gateway',
  'container_nic_routed_host_address',
  'container_nic_ipvlan_gateway',
  'container_nic_routed_host_table',
  'container_nic_ipvlan_host_table',
  'container_nic_ipvlan_mode',
  'container_nic_routed_limits',
  'instance_nic_routed_neighbor_probe',
  'container_raw_mount',
  'projects_limits',
  'projects_limits_disk',
  'projects_limits_instances',
  'projects_restrictions',
  'project_usage',
  'certificate_token',
  'remote_token_expiry',
  'trust_ca_certificates',
  'certificate_project',
  'metrics',
  'metrics_authentication',
  'clustering_evacuation',
  'oidc',
  'server_trusted_proxy',
  'warnings',
];

/** Every extension of the contract; other servers use the same names. */
export const extensions: readonly string[] = [
  ...specExtensions.split(/\s+/),
  ...identityExtensions,
  ...laterExtensions,
];

/** Extensions of the contract that this release lacks, with the reason. Clients test for names before they use a feature. */
export const unservedExtensions: Readonly<Record<string, string>> = {};

export const servedExtensions: readonly string[] = extensions.filter(
  (name) => !Object.hasOwn(unservedExtensions, name),
);

/** Names that the spec changed, as LXD has them (real system 26.3). */
export const lxdNames: Readonly<Record<string, string>> = {
  instance_types: 'resource_limits',
  proxy_priv_drop: 'unix_priv_drop',
};

/** Extensions of the release that the spec's list lacks, and those of later releases that LXD clients require and this daemon has: without
 *  api_filtering `lxc list` fails. Not `instances`: without it clients use containers, like this API. */
const onlyForLxd = [
  'container_backup_override_pool',
  'backup_override_name',
  'network_leases_location',
  'kernel_features',
  'event_location',
  'resources_v2',
  'api_filtering',
  'container_nic_ipfilter',
  'instance_nic_bridged_port_isolation',
];

/** In LXD they mean macaroons, which this daemon lacks. External tokens are `oidc` there. */
const notForLxd: ReadonlySet<string> = new Set(['external_authentication', 'candid_authentication']);

export const lxdExtensions: readonly string[] = [
  ...servedExtensions.filter((name) => !notForLxd.has(name)).map((name) => lxdNames[name] ?? name),
  ...onlyForLxd,
];
