package modeltest

import (
	"net/http"
	"strings"
)

// openAIRefusal is the error of both protocols of OpenAI.
func openAIRefusal(r *refusal, id string) (any, http.Header) {
	kind := r.kind
	if kind == "" {
		kind = map[int]string{429: "rate_limit_error", 500: "server_error", 503: "server_error"}[r.status]
	}
	if kind == "" {
		kind = "invalid_request_error"
	}
	e := obj{"message": r.message, "type": kind, "param": nil, "code": nil}
	if r.param != "" {
		e["param"] = r.param
	}
	if r.code != "" {
		e["code"] = r.code
	}
	return obj{"error": e}, http.Header{"X-Request-Id": {id}, "Openai-Processing-Ms": {"12"}}
}

func openAITrouble(k Kind, a *answer) *refusal {
	switch k {
	case RateLimit:
		return &refusal{status: 429, kind: "requests", code: "rate_limit_exceeded",
			message: "Rate limit reached for " + a.model + " in organization org-x on requests per min (RPM): Limit 3, Used 3, Requested 1."}
	case Overloaded:
		return &refusal{status: 503, kind: "service_unavailable_error", code: "server_is_overloaded", message: "Our servers are currently overloaded. Please try again later."}
	case Failing:
		return &refusal{status: 500, kind: "server_error", message: "The server had an error while processing your request. Sorry about that!"}
	case NoCredit:
		return &refusal{status: 429, kind: "insufficient_quota", code: "insufficient_quota",
			message: "You exceeded your current quota, please check your plan and billing details."}
	case NoModel:
		return param(&refusal{status: 404, kind: "invalid_request_error",
			message: "The model `" + a.model + "` does not exist or you do not have access to it."}, "", "model_not_found")
	case TooLong:
		return param(invalid("This model's maximum context length is 128000 tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.",
			128000+tokens(len(strings.Join(a.ask.prefix, "")))), "messages", "context_length_exceeded")
	case Filtered:
		return param(invalid("The response was filtered due to the prompt triggering content management policy."), "prompt", "content_filter")
	case Refused:
		return param(invalid("This request is refused for a reason of its own."), "messages", "invalid_value")
	}
	return nil
}
