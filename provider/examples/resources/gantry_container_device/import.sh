terraform import gantry_container_device.example 'web/data'
