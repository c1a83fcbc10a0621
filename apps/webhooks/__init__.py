"""What is told to a tenant's own servers, and where; not how it gets there, which is the runtime's business."""
