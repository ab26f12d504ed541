// Recognizes Terraform JSON among manifests by its name, or by blocks that no manifest has. Cheap, since every text is checked.
import { isMap } from '../../core/documents/json-values.ts';
import type { Part } from './module-files.ts';

export const isTerraform = ({ source, raw }: Part): boolean =>
  source.file.endsWith('.tf.json') ||
  (isMap(raw.value) && !('kind' in raw.value) && ('resource' in raw.value || 'terraform' in raw.value));
