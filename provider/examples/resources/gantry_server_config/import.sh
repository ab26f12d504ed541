terraform import gantry_server_config.example 'core.https_address,images.auto_update_interval'
