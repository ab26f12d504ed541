terraform import gantry_storage_pool.example 'fast'
