// Runs before each test file: what all files leave to it.
import { afterAll } from 'vitest';
import { removeTempFolders } from './temp-folder.ts';

// The hooks of the file itself come first.
afterAll(removeTempFolders);
