// Where each advertised API extension is built, and the test that shows it. The page of extensions is made of it, and a test compares it
// with what servers advertise.

export type ExtensionRow = readonly [source: string, test: string, word: string];

/** Extension, file below server/, file below test/, words of the case that shows it. */
const written = `
network_counters_errors_dropped | drivers/runtime/nic/netlink.ts | server/drivers/runtime/parsers.test.ts | packets_dropped_inbound
container_host_shutdown_timeout | services/containers/power/host-shutdown.ts | server/services/containers/host-shutdown.test.ts | boot.host_shutdown_timeout
container_stop_priority | services/containers/power/host-shutdown.ts | server/services/containers/host-shutdown.test.ts | boot.stop.priority
container_syscall_filtering | drivers/runtime/lxc/seccomp.ts | server/drivers/runtime/lxc-config-keys.test.ts | security.syscalls
auth_pki | auth/pki.ts | server/hostile/pki.test.ts | lets its clients connect
container_last_used_at | services/shared/container-view.ts | server/services/containers/state.test.ts | last_used_at
etag | services/shared/etag.ts | server/services/profiles.test.ts | etag
patch | services/shared/patch.ts | server/services/profiles.test.ts | PATCH
usb_devices | drivers/devices/usb.ts | server/drivers/devices/host-devices.test.ts | devices are picked by ids
https_allowed_credentials | services/server/server.ts | server/services/server.test.ts | https_allowed_credentials
image_compression_algorithm | services/transfer/publish/publish.ts | server/services/transfer/publish.test.ts | compression_algorithm
directory_manipulation | services/containers/files/files.ts | conformance/files.ts | directory
container_cpu_time | drivers/runtime/cgroup/metrics.ts | conformance/runtime.ts | cpuUsageNs
network | services/networks/networks.ts | server/services/networks.test.ts | /1.0/networks
profile_usedby | services/profiles/profiles.ts | server/services/profiles.test.ts | used_by
container_push | services/transfer/migration/target.ts | server/services/transfer/migration/migration.test.ts | push
container_exec_recording | services/containers/exec/record-output.ts | server/services/containers/exec.test.ts | record-output
certificate_update | services/server/certificates.ts | server/services/server.test.ts | gets another name by PATCH
container_exec_signal_handling | services/containers/exec/exec.ts | server/services/containers/exec.test.ts | signals on the control channel reach the command
gpu_devices | drivers/devices/gpu.ts | server/drivers/devices/host-devices.test.ts | gpu
container_image_properties | services/containers/create/create.ts | server/services/containers/containers.test.ts | image.os
migration_progress | services/transfer/migration/progress.ts | server/services/transfer/migration/migration.test.ts | fs_progress
id_map | drivers/runtime/idmap/plan.ts | server/services/containers/id-maps.test.ts | security.idmap.isolated
network_firewall_filtering | drivers/network/firewall.ts | server/drivers/network/decisions.test.ts | ipv4.firewall
network_routes | drivers/network/config.ts | server/drivers/network/bridge-host.test.ts | ipv4.routes
storage | services/storage/storage-pools.ts | server/services/storage/pools.test.ts | /1.0/storage-pools
file_delete | services/containers/files/files.ts | conformance/files.ts | DELETE
file_append | services/containers/files/files.ts | conformance/files.ts | append
network_dhcp_expiry | drivers/network/config.ts | server/drivers/network/decisions.test.ts | ipv4.dhcp.expiry
network_vlan | drivers/runtime/nic/plug.ts | server/drivers/devices/plan.test.ts | vlan
image_create_aliases | services/images/add-image.ts | server/services/images/images.test.ts | aliases
container_stateless_copy | services/containers/snapshots/snapshots.ts | server/services/containers/snapshots.test.ts | stateful
container_only_migration | services/containers/create/copy.ts | server/services/transfer/migration/migration.test.ts | container_only
unix_device_rename | drivers/devices/unix.ts | server/drivers/devices/host-devices.test.ts | path and source stand for each other
storage_rsync_bwlimit | services/transfer/migration/source.ts | server/services/transfer/migration/faults.test.ts | rsync.bwlimit
network_vxlan_interface | drivers/network/ip-commands.ts | server/drivers/network/bridge-tunnels.test.ts | tunnel.m.interface
storage_zfs_remove_snapshots | drivers/storage/zfs/datasets.ts | conformance/storage-snapshots.ts | restoring a snapshot keeps
storage_zfs_use_refquota | drivers/storage/zfs/zfs.ts | hosts/suite/zfs-pools.ts | zfs.use_refquota
zfs_block_mode | drivers/storage/zfs/volumes.ts | hosts/suite/zfs-pools.ts | block volumes stand beside
storage_zfs_clone_copy | drivers/storage/zfs/volumes.ts | hosts/suite/zfs-pools.ts | zfs.clone_copy
storage_lvm_mount_options | drivers/storage/blocks/mounts.ts | server/drivers/storage/blocks.test.ts | noatime
storage_lvm_vg_rename | drivers/storage/lvm/pool.ts | hosts/suite/lvm-pools.ts | renames its volume group
storage_lvm_thinpool_rename | drivers/storage/lvm/pool.ts | hosts/suite/lvm-pools.ts | and its thin pool
storage_lvm_lv_resizing | drivers/storage/blocks/resize.ts | server/drivers/storage/blocks.test.ts | smaller
storage_block_filesystem_btrfs | drivers/storage/lvm/lvm.ts | server/drivers/storage/blocks.test.ts | btrfs
storage_driver_ceph | drivers/storage/ceph/ceph.ts | server/drivers/storage/ceph.test.ts | storageConformance
storage_ceph_user_name | drivers/storage/ceph/calls.ts | hosts/suite/ceph-pools.ts | ceph.user.name
storage_ceph_force_osd_reuse | drivers/storage/ceph/pool.ts | hosts/suite/ceph-pools.ts | ceph.osd.force_reuse
storage_cephfs | drivers/storage/cephfs/cephfs.ts | server/drivers/storage/cephfs.test.ts | storageConformance
storage_rsync_compression | services/transfer/migration/lxd/offers.ts | server/services/transfer/migration/lxd-messages.test.ts | rsync.compression
storage_lvm_vg_force_reuse | drivers/storage/lvm/pool.ts | hosts/suite/lvm-pools.ts | lvm.vg.force_reuse
storage_btrfs_mount_options | drivers/storage/btrfs/pool.ts | server/drivers/storage/btrfs.test.ts | btrfs.mount_options
entity_description | services/profiles/profiles.ts | server/services/profiles.test.ts | description
image_force_refresh | services/images/image-refresh.ts | server/services/images/remote-images.test.ts | a refreshed image passes its aliases
id_map_base | services/containers/shared/id-maps.ts | server/services/containers/id-maps.test.ts | idmap.base
file_symlinks | services/containers/files/files.ts | conformance/files.ts | symlink
container_push_target | services/transfer/migration/connect.ts | server/services/transfer/migration/migration.test.ts | push
network_vlan_physical | drivers/runtime/nic/plug.ts | server/drivers/devices/plan.test.ts | vlan
storage_images_delete | services/images/sagas/image-delete.ts | server/services/images/images.test.ts | a deletion removes files, unpacked copies and aliases
container_edit_metadata | services/containers/files/metadata.ts | server/services/containers/metadata.test.ts | metadata
container_snapshot_stateful_migration | services/transfer/migration/container-source.ts | server/services/transfer/migration/live.test.ts | stateful snapshot
instance_types | api/container/instance-type.ts | contract/instance-type.test.ts | c2-m4
storage_volatile_initial_source | drivers/storage/btrfs/pool.ts | server/drivers/storage/btrfs.test.ts | volatile.initial_source
resources | services/server/resources.ts | server/services/server.test.ts | resources.memory.total
kernel_limits | drivers/runtime/lxc/config.ts | server/drivers/runtime/lxc-config-keys.test.ts | limits.kernel
storage_api_volume_rename | services/storage/volumes.ts | server/services/storage/volumes.test.ts | a rename keeps files and snapshots
network_sriov | drivers/devices/sriov.ts | server/drivers/devices/host-devices.test.ts | sriov takes the first free function
console | services/containers/exec/console.ts | server/services/containers/console.test.ts | console
restrict_devlxd | services/containers/guest-access.ts | server/guest/socket.test.ts | security.devlxd
migration_pre_copy | services/transfer/migration/memory-rounds.ts | server/services/transfer/migration/memory-rounds.test.ts | migration.incremental.memory
infiniband | drivers/devices/infiniband.ts | server/drivers/devices/host-devices.test.ts | infiniband
devlxd_events | guest/guest-events.ts | server/guest/socket.test.ts | events
proxy | drivers/devices/proxy/proxy.ts | server/drivers/devices/proxy.test.ts | proxy
network_dhcp_gateway | drivers/network/config.ts | server/drivers/network/bridge-host.test.ts | ipv4.dhcp.gateway
file_get_symlink | services/containers/files/files.ts | conformance/files.ts | symlink
network_leases | services/networks/networks.ts | server/services/networks.test.ts | leases
unix_device_hotplug | drivers/devices/unix.ts | server/drivers/devices/proxy.test.ts | required: 'false'
storage_api_local_volume_handling | services/storage/volumes.ts | server/services/storage/volumes.test.ts | copies work within the pool
operation_description | operations/manager.ts | server/operations/operations.test.ts | description
clustering | services/cluster/cluster-membership.ts | e2e/cluster/placement.test.ts | cluster
clustering_join | services/cluster/join.ts | e2e/cluster/lxc-cluster.test.ts | cluster_password
clustering_evacuation | services/cluster/moves/evacuate.ts | e2e/cluster/lxc-cluster.test.ts | evacuate
clustering_server_address | services/cluster/join.ts | e2e/cluster/lxc-cluster.test.ts | server_address
clustering_join_token | services/cluster/accept.ts | e2e/cluster/lxc-cluster.test.ts | revoke-token
clustering_roles | services/cluster/cluster-membership.ts | e2e/cluster/lxc-cluster.test.ts | roles
clustering_failure_domains | services/cluster/cluster-membership.ts | e2e/cluster/lxc-cluster.test.ts | failure_domain
clustering_architecture | services/cluster/accept.ts | e2e/cluster/lxc-cluster.test.ts | architecture
clustering_description | services/cluster/cluster-membership.ts | e2e/cluster/lxc-cluster.test.ts | description
clustering_image_replication | services/images/replicate-images.ts | e2e/cluster/images.test.ts | replica
clustering_update_cert | services/cluster/certificate/certificate-change.ts | e2e/cluster/members/certificate.test.ts | cluster/certificate
clustering_edit_roles | services/cluster/member-settings.ts | e2e/cluster/groups.test.ts | roles
clustering_config | services/cluster/member-settings.ts | e2e/cluster/groups.test.ts | scheduler.instance
clustering_groups | services/cluster/member-groups.ts | e2e/cluster/groups.test.ts | groups
event_lifecycle | events/hub.ts | server/operations/operations.test.ts | lifecycle
storage_api_remote_volume_handling | services/transfer/migration/volume-target.ts | server/services/transfer/migration/volumes.test.ts | migration
nvidia_runtime | drivers/runtime/lxc/config.ts | server/drivers/devices/plan.test.ts | nvidia.runtime
container_mount_propagation | drivers/devices/disk.ts | server/drivers/devices/running-devices.test.ts | propagation
container_backup | services/transfer/backups/backups.ts | server/services/transfer/backups/backups.test.ts | backups
devlxd_images | services/containers/guest-view.ts | server/guest/socket.test.ts | security.devlxd.images
container_local_cross_pool_handling | services/containers/create/copy.ts | server/services/containers/move-between-pools.test.ts | pool
proxy_unix | drivers/devices/proxy/sockets.ts | server/drivers/devices/proxy.test.ts | through a socket fil
proxy_udp | drivers/devices/proxy/forward.ts | server/drivers/devices/proxy.test.ts | udp both ways
proxy_tcp_udp_multi_port_handling | drivers/devices/proxy/proxy-plan.ts | server/drivers/devices/proxy.test.ts | many ports
network_state | services/networks/networks.ts | server/services/networks.test.ts | state
proxy_unix_dac_properties | drivers/devices/proxy/sockets.ts | server/drivers/devices/proxy.test.ts | a socket file of the host has its owner and mode
container_protection_delete | services/containers/remove/remove.ts | server/services/containers/containers.test.ts | security.protection.delete
proxy_priv_drop | drivers/devices/proxy/proxy-plan.ts | server/drivers/devices/plan.test.ts | security.gid
candid_authentication | auth/oidc/settings.ts | server/hostile/bearer-tokens.test.ts | candid.api.url
candid_config | auth/oidc/settings.ts | server/hostile/bearer-tokens.test.ts | candid.domains
candid_config_key | auth/oidc/bearer-tokens.ts | server/hostile/bearer-tokens.test.ts | candid.api.key
maas_network | services/networks/maas-registry.ts | server/services/maas.test.ts | maas.subnet.ipv4
pprof_http | debug/debug-listener.ts | server/debug/debug-listener.test.ts | core.debug_address
proxy_haproxy_protocol | drivers/devices/proxy/proxy-plan.ts | server/drivers/devices/proxy.test.ts | proxy_protocol
network_hwaddr | drivers/network/bridge.ts | conformance/network.ts | hardware address of its config
proxy_nat | drivers/devices/proxy/proxy-plan.ts | server/drivers/devices/proxy.test.ts | nat forwards in the kernel
network_nat_order | drivers/network/config.ts | server/drivers/network/bridge-host.test.ts | ipv4.nat.order
container_full | services/containers/reader.ts | server/services/containers/containers.test.ts | recursion=2
backup_compression | services/transfer/backups/backups.ts | server/services/transfer/backups/backups.test.ts | compression
nvidia_runtime_config | drivers/runtime/lxc/config.ts | server/drivers/devices/plan.test.ts | nvidia.driver.capabilities
storage_api_volume_snapshots | services/storage/volume-snapshots.ts | server/services/storage/volumes.test.ts | snapshots
volume_snapshot_scheduling | services/storage/snapshot-schedule.ts | server/services/storage/volume-schedules.test.ts | snapshots.schedule
cluster_internal_custom_volume_copy | services/cluster/member-volumes.ts | e2e/cluster/volumes.test.ts | location
cluster_internal_copy | services/cluster/member-copies.ts | e2e/cluster/lxc-cluster.test.ts | cluster_internal_copy
custom_volume_snapshot_expiry | services/storage/volume-snapshots.ts | server/services/storage/volume-schedules.test.ts | expires_at
custom_volume_backup | services/transfer/backups/owner.ts | reconciler/cli/verbs/backup.test.ts | A volume
custom_volume_refresh | services/transfer/migration/refresh/volumes.ts | server/services/transfer/migration/volume-refresh.test.ts | a copy on another server gets what differs
storage_unmapped | services/storage/host-volumes.ts | server/services/storage/volumes.test.ts | security.unmapped
projects | services/projects/projects.ts | server/services/projects/projects.test.ts | /1.0/projects
network_vxlan_ttl | drivers/network/ip-commands.ts | server/drivers/network/bridge-tunnels.test.ts | tunnel.m.ttl
container_incremental_copy | services/transfer/migration/refresh/containers.ts | server/services/transfer/migration/refresh.test.ts | refresh
usb_optional_vendorid | drivers/devices/usb.ts | server/drivers/devices/host-devices.test.ts | vendorid
snapshot_scheduling | services/containers/snapshots/schedule.ts | server/services/containers/snapshots.test.ts | snapshots.schedule
container_copy_project | services/containers/create/copy.ts | server/services/projects/containers.test.ts | comes from the project of the request
container_protection_shift | drivers/runtime/mounts/container-files.ts | server/services/containers/id-maps.test.ts | security.protection.shift
snapshot_expiry | services/containers/snapshots/snapshots.ts | server/services/containers/snapshots.test.ts | snapshots.expiry
snapshot_expiry_creation | services/containers/snapshots/snapshots.ts | server/services/containers/snapshots.test.ts | expires_at
id_map_current | services/containers/shared/id-maps.ts | server/services/containers/id-maps.test.ts | volatile.idmap.current
container_exec_user_group_cwd | services/containers/exec/exec.ts | server/services/containers/exec.test.ts | user, group and directory
instance_pool_move | services/containers/move/move.ts | server/services/containers/move-between-pools.test.ts | it keeps files, snapshots, addresses and history
cloud_init | services/containers/guest-view.ts | server/guest/socket.test.ts | cloud-init
network_dns_search | drivers/network/config.ts | server/drivers/network/decisions.test.ts | dns.search
network_nat_address | drivers/network/config.ts | server/drivers/network/bridge-host.test.ts | nat.address
network_acl | services/networks/network-acls.ts | server/services/network-acls.test.ts | network-acl-created
network_bridge_acl | drivers/network/acl-rules.ts | server/drivers/network/acl-host.test.ts | security.acls
container_nic_routes | drivers/runtime/nic/routes.ts | server/drivers/devices/served-keys.test.ts | routes
container_nic_ipvlan | drivers/devices/ipvlan-nic.ts | server/drivers/devices/routed-nics.test.ts | ipvlan
container_nic_routed | drivers/devices/routed-nic.ts | server/drivers/devices/routed-nics.test.ts | routed
container_nic_routed_gateway | drivers/devices/routed-nic.ts | server/drivers/devices/routed-nics.test.ts | ipv6.gateway
container_nic_routed_host_address | drivers/devices/routed-nic.ts | server/drivers/devices/routed-nics.test.ts | ipv4.host_address
container_nic_ipvlan_gateway | drivers/devices/ipvlan-nic.ts | contract/devices.test.ts | ipv6.gateway
container_nic_routed_host_table | drivers/runtime/nic/routes.ts | server/drivers/devices/routed-nics.test.ts | ipv4.host_table
container_nic_ipvlan_host_table | drivers/runtime/nic/routes.ts | server/drivers/devices/plan.test.ts | tables: { ipv4: 7 }
container_nic_ipvlan_mode | drivers/devices/ipvlan-nic.ts | server/drivers/devices/plan.test.ts | mode l2
container_nic_routed_limits | drivers/devices/nic.ts | server/drivers/devices/routed-nics.test.ts | limits.max
instance_nic_routed_neighbor_probe | drivers/runtime/nic/routing.ts | server/drivers/devices/routed-nics.test.ts | ipv4.neighbor_probe
container_raw_mount | drivers/devices/disk.ts | server/drivers/devices/served-keys.test.ts | raw.mount.options
projects_limits | services/limits/guard.ts | server/services/limits.test.ts | limits.
projects_limits_disk | services/limits/contents-of.ts | server/services/limits.test.ts | limits.disk
projects_limits_instances | api/project/project-limits.ts | contract/project-limits.test.ts | limits.instances
projects_restrictions | http/dialects/lxd-networks.ts | server/http/lxd-networks.test.ts | restricted.networks.access
project_usage | services/limits/state.ts | server/services/limits.test.ts | /state
oidc | auth/oidc/settings.ts | server/hostile/bearer-tokens.test.ts | issuer
server_trusted_proxy | http/listen/proxy-header.ts | server/http/proxy-header.test.ts | core.https_trusted_proxy
external_authentication | auth/oidc/settings.ts | server/hostile/bearer-tokens.test.ts | issuer
instance_all_projects | services/containers/reader.ts | server/services/projects/edge.test.ts | all-projects
instance_allow_inconsistent_copy | api/container/container.ts | e2e/moving/running-lxd.test.ts | inconsistent
certificate_project | auth/restricted-view.ts | server/hostile/trust-tokens.test.ts | a restricted token grants neither full trust
metrics | services/server/metrics.ts | server/hostile/metrics-access.test.ts | a certificate of type metrics reads metrics and is untrusted everywhere else
metrics_authentication | auth/policy.ts | server/hostile/metrics-access.test.ts | only when core.metrics_authentication is false
certificate_token | services/server/certificates.ts | server/hostile/trust-tokens.test.ts | are used once
remote_token_expiry | services/server/certificates.ts | server/hostile/trust-tokens.test.ts | remote_token_expiry
trust_ca_certificates | auth/identify.ts | server/hostile/pki.test.ts | trust_ca_certificates
container_backup_override_pool | services/transfer/backups/restore.ts | server/services/transfer/backups/backups.test.ts | x-svc-pool
backup_override_name | services/transfer/backups/restore.ts | server/services/transfer/backups/backups.test.ts | x-svc-name
network_leases_location | services/networks/networks.ts | server/services/networks.test.ts | location: 'none'
kernel_features | services/server/server.ts | server/http/lxd-dialect.test.ts | idmapped_mounts
event_location | events/hub.ts | server/operations/operations.test.ts | event.location
resources_v2 | http/dialects/lxd-spellings.ts | server/http/lxd-dialect.test.ts | processors are listed by core and thread
container_nic_ipfilter | drivers/runtime/nic/filter-rules.ts | server/hostile/tenants/shared-network.test.ts | no frame with a foreign address gets through
instance_nic_bridged_port_isolation | drivers/runtime/nic/filters.ts | server/hostile/tenants/shared-network.test.ts | isolated nics
api_filtering | http/dialects/lxd-filter.ts | server/http/lxd-dialect.test.ts | filter
instance_project_move | services/containers/move/move.ts | server/services/projects/containers.test.ts | project
image_source_project | services/images/copy-image.ts | server/services/images/image-projects.test.ts | project
storage_api_project | services/storage/volumes.ts | server/services/storage/volume-projects.test.ts | a copy from another project brings content
storage_shifted | services/storage/host-volumes.ts | server/services/storage/volumes.test.ts | security.shifted
linux_sysctl | drivers/runtime/lxc/config.ts | server/drivers/runtime/lxc-config-keys.test.ts | linux.sysctl
warnings | services/warnings/warnings.ts | server/services/warnings/warnings.test.ts | acknowledged, made new again and deleted
`;

export const extensionRows: Readonly<Record<string, ExtensionRow>> = Object.fromEntries(
  written
    .trim()
    .split('\n')
    .map((line): [string, ExtensionRow] => {
      const [name = '', source = '', test = '', word = ''] = line.split(' | ');
      return [name, [source, test, word]];
    }),
);
