// Generated from the provider's schemas; test/reconciler/manifest/terraform-json/inside.test.ts writes and compares it. The types of the
// provider: their arguments by shape, those that it fills in, and the attributes that an apply makes known. Names are separated by spaces.
import type { NamesByShape } from '../evaluation/argument-shapes.ts';

export interface TypeRow {
  readonly arguments: NamesByShape;
  readonly filled: string;
  readonly computed: string;
}

/** Objects that every resource takes. */
export const common: NamesByShape['object'] = { timeouts: { text: 'create read update delete' } };

export const resources: Readonly<Record<string, TypeRow>> = {
  gantry_certificate: {
    arguments: { text: 'name certificate type remote', bool: 'restricted', texts: 'projects' },
    filled: 'restricted type',
    computed: 'fingerprint',
  },
  gantry_cluster_member: {
    arguments: { text: 'name remote', bool: 'force' },
    filled: 'force',
    computed: 'database status url',
  },
  gantry_container: {
    arguments: {
      text: 'name description architecture instance_type target remote project',
      texts: 'profiles',
      bool: 'ephemeral running allow_restart',
      map: 'config config_wo',
      number: 'config_wo_version stop_timeout',
      maps: 'devices',
      list: { wait_for: { text: 'type nic host path delay timeout', texts: 'command', number: 'port' } },
      each: {
        files: { text: 'content source mode', number: 'uid gid', computed: 'sha256' },
        exec: {
          texts: 'command',
          map: 'environment',
          text: 'cwd on timeout',
          number: 'user group',
          bool: 'enabled fail_on_error record_output',
          computed: 'exit_code stdout stderr',
        },
      },
      object: {
        source: {
          text: 'type alias fingerprint server protocol certificate mode source snapshot file',
          bool: 'container_only allow_host_access',
          computed: 'sha256',
        },
        snapshots: { text: 'schedule pattern expiry', bool: 'stopped' },
      },
    },
    filled:
      'allow_restart architecture config description devices ephemeral profiles running source stop_timeout target',
    computed:
      'created_at expanded_config expanded_devices interfaces ipv4_address ipv6_address location mac_address restart_pending status',
  },
  gantry_container_device: {
    arguments: { text: 'container name type remote project', map: 'properties' },
    filled: 'properties',
    computed: 'noted',
  },
  gantry_container_exec: {
    arguments: {
      text: 'container cwd timeout remote project',
      texts: 'command destroy_command',
      map: 'environment environment_wo triggers',
      number: 'environment_wo_version user group',
      bool: 'fail_on_error record_output',
    },
    filled: 'fail_on_error group timeout user',
    computed: 'exit_code stderr stdout',
  },
  gantry_container_file: {
    arguments: {
      text: 'container path type content source content_wo target mode remote project',
      number: 'content_wo_version uid gid',
    },
    filled: 'gid mode type uid',
    computed: 'sha256',
  },
  gantry_image: {
    arguments: {
      map: 'properties',
      bool: 'public auto_update copy_aliases',
      text: 'remote project',
      object: {
        source: {
          text: 'type file metadata url server protocol certificate alias fingerprint architecture container snapshot',
        },
      },
    },
    filled: 'auto_update copy_aliases properties public',
    computed: 'architecture created_at fingerprint size_bytes',
  },
  gantry_image_alias: {
    arguments: { text: 'name description target remote project' },
    filled: 'description',
    computed: '',
  },
  gantry_network: {
    arguments: {
      text: 'name description type remote project',
      map: 'config',
      each: { member_overrides: { map: 'config' } },
    },
    filled: 'config description type',
    computed: 'effective_config ipv4_address ipv6_address locations',
  },
  gantry_network_acl: {
    arguments: {
      text: 'name description remote project',
      list: {
        ingress: {
          text: 'action state description source destination protocol source_port destination_port icmp_type icmp_code',
        },
        egress: {
          text: 'action state description source destination protocol source_port destination_port icmp_type icmp_code',
        },
      },
      map: 'config',
    },
    filled: 'config description egress ingress',
    computed: '',
  },
  gantry_profile: {
    arguments: { text: 'name description remote project', map: 'config', maps: 'devices' },
    filled: 'config description devices',
    computed: '',
  },
  gantry_project: {
    arguments: { text: 'name description remote', map: 'config', bool: 'force_destroy' },
    filled: 'config description force_destroy',
    computed: 'effective_config',
  },
  gantry_server_config: {
    arguments: { map: 'config', text: 'trust_password remote', number: 'trust_password_version' },
    filled: '',
    computed: 'name',
  },
  gantry_snapshot: {
    arguments: { text: 'container name expires_at remote project', bool: 'stateful' },
    filled: 'expires_at stateful',
    computed: 'created_at',
  },
  gantry_storage_pool: {
    arguments: { text: 'name description driver remote', map: 'config', each: { member_overrides: { map: 'config' } } },
    filled: 'config description',
    computed: 'effective_config locations',
  },
  gantry_storage_volume: {
    arguments: {
      text: 'pool name description target remote project',
      map: 'config',
      object: { source: { text: 'pool name project' } },
    },
    filled: 'config description target',
    computed: 'effective_config location',
  },
  gantry_volume_snapshot: {
    arguments: { text: 'pool volume name target description expires_at remote project' },
    filled: 'description expires_at',
    computed: '',
  },
};

export const dataSources: Readonly<Record<string, TypeRow>> = {
  gantry_certificate: {
    arguments: { text: 'fingerprint remote' },
    filled: '',
    computed: 'certificate name projects restricted',
  },
  gantry_cluster: { arguments: { text: 'remote' }, filled: '', computed: 'enabled members server_name' },
  gantry_container: {
    arguments: { text: 'name remote project' },
    filled: '',
    computed:
      'architecture config created_at description devices ephemeral expanded_config expanded_devices interfaces ipv4_address ipv6_address location mac_address profiles running status',
  },
  gantry_containers: {
    arguments: { text: 'name_prefix status profile remote project', map: 'config' },
    filled: '',
    computed: 'containers',
  },
  gantry_image: {
    arguments: { text: 'alias fingerprint remote project' },
    filled: 'fingerprint',
    computed: 'aliases architecture created_at properties public size_bytes uploaded_at',
  },
  gantry_network_acl: {
    arguments: { text: 'name remote project' },
    filled: '',
    computed: 'config description egress ingress used_by',
  },
  gantry_network: {
    arguments: { text: 'name remote project' },
    filled: '',
    computed: 'config description ipv4_address ipv6_address locations managed type used_by',
  },
  gantry_network_leases: { arguments: { text: 'network remote project' }, filled: '', computed: 'leases' },
  gantry_profile: {
    arguments: { text: 'name remote project' },
    filled: '',
    computed: 'config description devices used_by',
  },
  gantry_project: { arguments: { text: 'name remote' }, filled: '', computed: 'config description used_by' },
  gantry_resources: {
    arguments: { text: 'remote' },
    filled: '',
    computed: 'cpu_names cpu_total memory_total_bytes memory_used_bytes',
  },
  gantry_server: {
    arguments: { text: 'remote' },
    filled: '',
    computed:
      'addresses api_extensions api_version architectures certificate_fingerprint clustered config driver kernel kernel_version name storage version',
  },
  gantry_storage_pool: {
    arguments: { text: 'name remote' },
    filled: '',
    computed: 'config description driver space_total_bytes space_used_bytes status used_by',
  },
  gantry_storage_volume: {
    arguments: { text: 'pool name remote project' },
    filled: '',
    computed: 'config description location used_by',
  },
};
