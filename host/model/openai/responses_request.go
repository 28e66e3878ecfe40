package openai

import (
	"fmt"
	"slices"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"agent/host/model"
	"agent/recovery"
)

func some[T comparable](v T) param.Opt[T] { return param.NewOpt(v) }

// responsesBody is the request of the Responses API. Nothing is kept at the provider: every request carries the whole
// conversation, with the encrypted reasoning of models that reason.
//
// A summary of the reasoning is asked for only together with an effort: OpenAI refuses it to organizations that it has not
// verified, and whoever asks for nothing should not be refused.
func (c *client) responsesBody(req model.Request) ([]byte, error) {
	p := responses.ResponseNewParams{Model: c.o.Model, Store: some(false)}
	if req.System != "" {
		p.Instructions = some(valid(req.System))
	}
	if req.MaxOutput > 0 {
		p.MaxOutputTokens = some(req.MaxOutput)
	}
	if req.Thread != "" {
		p.PromptCacheKey = some(req.Thread)
	}
	if !plain(c.o.Model) {
		p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
		if req.Effort != "" {
			p.Reasoning.Effort = effort(c.o.Model, req.Effort)
		}
		if req.Effort != "" && req.Effort != recovery.EffortNone {
			p.Reasoning.Summary = shared.ReasoningSummaryAuto
		}
	}
	for _, t := range req.Tools {
		f := &responses.FunctionToolParam{Name: t.Name, Strict: some(false)}
		if t.Description != "" {
			f.Description = some(valid(t.Description))
		}
		f.SetExtraFields(map[string]any{"parameters": schema(t)})
		p.Tools = append(p.Tools, responses.ToolUnionParam{OfFunction: f})
	}
	head, err := p.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	var in input
	for _, m := range req.Messages {
		if err := in.message(c.o.Model, m); err != nil {
			return nil, err
		}
	}
	return closing(head, "input", in.items), nil
}

// input is the list of items that the model reads.
type input struct{ items [][]byte }

func (in *input) add(i responses.ResponseInputItemUnionParam) error {
	raw, err := i.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encode an item of the request: %w", err)
	}
	in.items = append(in.items, raw)
	return nil
}

func (in *input) message(name string, m recovery.Message) error {
	if m.Role == recovery.RoleAssistant {
		return in.answer(name, m)
	}
	var said responses.ResponseInputMessageContentListParam
	for _, b := range m.Blocks {
		switch b.Kind {
		case recovery.BlockResult:
			if err := in.result(b.Result); err != nil {
				return err
			}
		case recovery.BlockImage:
			said = append(said, responses.ResponseInputContentUnionParam{OfInputImage: &responses.ResponseInputImageParam{
				Detail: responses.ResponseInputImageDetailAuto, ImageURL: some(dataURL(b.Image)),
			}})
		case recovery.BlockText:
			said = append(said, responses.ResponseInputContentUnionParam{
				OfInputText: &responses.ResponseInputTextParam{Text: valid(b.Text)},
			})
		}
	}
	if len(said) == 0 {
		return nil
	}
	return in.add(responses.ResponseInputItemUnionParam{OfMessage: &responses.EasyInputMessageParam{
		Role: responses.EasyInputMessageRoleUser, Type: responses.EasyInputMessageTypeMessage,
		Content: responses.EasyInputMessageContentUnionParam{OfInputItemContentList: said},
	}})
}

func (in *input) result(r *recovery.ResultBlock) error {
	return in.add(responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{
		CallID: some(r.ID),
		Output: responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: some(valid(r.Text))},
	}})
}

// answered is an answer taken apart: what is no call, with what was kept of it, and the calls.
type answered struct {
	blocks []recovery.Block
	notes  []kept
	calls  []*recovery.CallBlock
	ids    []string // item ids of the calls
}

// takeApart reads an answer. The provider refuses an item by whose id it knows that its reasoning is missing; so where
// reasoning cannot go back, no id does.
func takeApart(name string, m recovery.Message) (answered, error) {
	var a answered
	whole := true
	for _, b := range m.Blocks {
		if b.Kind == recovery.BlockCall {
			a.calls = append(a.calls, b.Call)
			continue
		}
		r, err := recall(b)
		if err != nil {
			return a, err
		}
		var k kept
		if r.Responses != nil {
			k = *r.Responses
		}
		if b.Kind == recovery.BlockReasoning && (k.Item == "" || k.Model != name) {
			whole, k.Item = false, ""
		}
		a.ids = slices.Concat(a.ids, k.Calls)
		a.blocks, a.notes = append(a.blocks, b), append(a.notes, k)
	}
	if !whole {
		a.ids = nil
		for i := range a.notes {
			a.notes[i].ID = ""
		}
	}
	return a, nil
}

// answer puts an answer's blocks and calls into the order in which they came: a reasoning item must be followed by what it
// was the reasoning for, and the host keeps blocks and calls apart. Reasoning that was cut off before anything came of it
// is left out: the provider refuses it.
func (in *input) answer(name string, m recovery.Message) error {
	a, err := takeApart(name, m)
	if err != nil {
		return err
	}
	at, end := 0, len(in.items)
	for i := range len(a.calls) + 1 {
		for at < len(a.blocks) && (a.notes[at].After <= i || i == len(a.calls)) {
			before := len(in.items)
			if err := in.block(a.blocks[at], a.notes[at]); err != nil {
				return err
			}
			if a.blocks[at].Kind == recovery.BlockText && len(in.items) > before {
				end = len(in.items)
			}
			at++
		}
		if i == len(a.calls) {
			break
		}
		id := ""
		if i < len(a.ids) {
			id = a.ids[i]
		}
		if err := in.call(a.calls[i], id); err != nil {
			return err
		}
		end = len(in.items)
	}
	in.items = in.items[:end]
	return nil
}

// block is a part of an answer that is no call.
func (in *input) block(b recovery.Block, k kept) error {
	switch {
	case b.Kind == recovery.BlockReasoning && k.Item != "":
		in.items = append(in.items, []byte(k.Item))
	case b.Kind != recovery.BlockText || b.Text == "":
	case k.ID != "":
		return in.add(responses.ResponseInputItemUnionParam{OfOutputMessage: &responses.ResponseOutputMessageParam{
			ID: k.ID, Status: responses.ResponseOutputMessageStatusCompleted, Phase: responses.ResponseOutputMessagePhase(k.Phase),
			Content: []responses.ResponseOutputMessageContentUnionParam{{OfOutputText: &responses.ResponseOutputTextParam{
				Text: valid(b.Text), Annotations: []responses.ResponseOutputTextAnnotationUnionParam{},
			}}},
		}})
	default:
		return in.add(responses.ResponseInputItemUnionParam{OfMessage: &responses.EasyInputMessageParam{
			Role: responses.EasyInputMessageRoleAssistant, Type: responses.EasyInputMessageTypeMessage,
			Phase:   responses.EasyInputMessagePhase(k.Phase),
			Content: responses.EasyInputMessageContentUnionParam{OfString: some(valid(b.Text))},
		}})
	}
	return nil
}

func (in *input) call(c *recovery.CallBlock, id string) error {
	args, err := arguments(c.Args)
	if err != nil {
		return err
	}
	f := &responses.ResponseFunctionToolCallParam{CallID: c.ID, Name: toolName(c.Tool), Arguments: args}
	if id != "" {
		f.ID = some(id)
	}
	return in.add(responses.ResponseInputItemUnionParam{OfFunctionCall: f})
}
