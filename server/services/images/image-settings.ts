// The image settings of a project: its own, else the server's. Reads records only.
import type { Records } from '../../records/records.ts';
import { settingOf } from '../shared/settings.ts';

type ImageSetting =
  | 'images.auto_update_cached'
  | 'images.auto_update_interval'
  | 'images.compression_algorithm'
  | 'images.remote_cache_expiry';

export function imageSetting(records: Records, project: string, key: ImageSetting): string {
  const own = records.projects.get(project)?.document.config[key] ?? '';
  return own === '' ? settingOf(records, key) : own;
}
